import { z } from "zod";
import { secretVariable } from "../variable-name.js";
import { WEBHOOK_FORMATS, type WebhookFormat } from "./message-bodies.js";
import { WEBHOOK_EVENTS, type NoticeData, type NoticeEvent } from "./notice.js";

/** Webhooks as the operator of a worker writes them down. Nobody else names one: no package, no model, no run's input. */

const MAX_WEBHOOKS = 20;

const webhookEntrySchema = z
  .strictObject({
    /** Where it is sent. https, or http on the loopback address. */
    url: z.string().optional(),
    /** The variable that holds the URL: whoever knows that of Slack, Teams or Discord can post. */
    urlVariable: secretVariable.optional(),
    format: z.enum(WEBHOOK_FORMATS).default("json"),
    /** The variable that holds what it is signed with. */
    secretVariable: secretVariable.optional(),
    events: z.array(z.enum(WEBHOOK_EVENTS)).min(1).default(["question", "completed", "failed"]),
    /** Ids of projects, or names of their directories; absent means all. */
    projects: z.array(z.string().min(1)).min(1).optional(),
    /** Ids of packages, or how they begin, such as a name; absent means all. */
    packages: z.array(z.string().min(1)).min(1).optional(),
    /** False: not of rehearsals. */
    rehearsals: z.boolean().default(true),
    /** True: http to other machines as well, where everybody on the way can read it. */
    allowHttp: z.boolean().default(false),
  })
  .superRefine(({ url, urlVariable, format, secretVariable, allowHttp }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if ((url === undefined) === (urlVariable === undefined)) {
      refuse("url", "needs either url or urlVariable, the name of the variable that holds it");
    }
    const problem = url === undefined ? undefined : urlProblem(url, allowHttp);
    if (problem !== undefined) refuse("url", problem);
    if (format === "json" && secretVariable === undefined) {
      refuse(
        "secretVariable",
        "is missing: messages of format json are signed. Name the variable that holds the secret",
      );
    }
  });
type WebhookEntry = z.infer<typeof webhookEntrySchema>;

/** `notifications` of the settings file. */
export const notificationsSchema = z.strictObject({
  /** By names of the operator's, which people see. */
  webhooks: z
    .record(
      z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, "must be a name: small letters, digits and -, at most 40"),
      webhookEntrySchema,
    )
    .refine((entries) => Object.keys(entries).length <= MAX_WEBHOOKS, `must be at most ${MAX_WEBHOOKS}`),
});

/** A webhook with what the environment holds of it. */
export interface Webhook {
  readonly name: string;
  readonly format: WebhookFormat;
  readonly events: readonly NoticeEvent[];
  readonly projects?: readonly string[] | undefined;
  readonly packages?: readonly string[] | undefined;
  readonly rehearsals: boolean;
  /** Where it is sent, and what it is signed with, in base64: of several secrets each makes a signature; or why it cannot be sent. */
  readonly target:
    | { readonly url: string; readonly secrets: readonly string[] }
    | { readonly problem: string };
}

/** The webhooks of the settings, resolved against the environment. A variable that is missing is a problem of its webhook only. */
export function webhooksOf(
  settings: z.infer<typeof notificationsSchema> | undefined,
  variable: (name: string) => string | undefined,
): readonly Webhook[] {
  return Object.entries(settings?.webhooks ?? {}).map(([name, entry]) => {
    const { format, events, projects, packages, rehearsals } = entry;
    return { name, format, events, projects, packages, rehearsals, target: targetOf(entry, variable) };
  });
}

function targetOf(entry: WebhookEntry, variable: (name: string) => string | undefined): Webhook["target"] {
  const { urlVariable = "", secretVariable, allowHttp } = entry;
  const url = entry.url ?? variable(urlVariable)?.trim();
  if (url === undefined) return { problem: `the variable of its URL, ${urlVariable}, is not set` };
  const problem = urlProblem(url, allowHttp);
  if (problem !== undefined) return { problem: `the URL in ${urlVariable} ${problem}` };
  if (secretVariable === undefined) return { url, secrets: [] };
  const held = variable(secretVariable)?.trim();
  if (held === undefined) return { problem: `the variable of its secret, ${secretVariable}, is not set` };
  const secrets = held.split(/\s+/);
  if (!secrets.every(isSecret)) {
    return {
      problem: `${secretVariable} must hold whsec_ and 24 to 64 bytes in base64; make one with: printf 'whsec_%s\\n' "$(openssl rand -base64 32)"`,
    };
  }
  return { url, secrets: secrets.map((secret) => secret.slice(SECRET_PREFIX.length)) };
}

const SECRET_PREFIX = "whsec_";

function isSecret(text: string): boolean {
  const [, digits] = /^whsec_([A-Za-z0-9+/]+)={0,2}$/.exec(text) ?? [];
  const bytes = Math.floor(((digits ?? "").length * 3) / 4);
  return bytes >= 24 && bytes <= 64;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** What is wrong with an address; it is not repeated: it may be a secret. */
function urlProblem(text: string, allowHttp: boolean): string | undefined {
  if (!URL.canParse(text)) return "is no URL";
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return "must hold no user name and no password";
  if (protocol === "https:") return undefined;
  if (protocol !== "http:") return "must begin with https://";
  if (allowHttp || LOOPBACK.test(hostname)) return undefined;
  return "must begin with https://; http is for the loopback address, elsewhere only with allowHttp";
}

/** Whether a webhook is to be told of it. */
export function wants({ events, projects, packages, rehearsals }: Webhook, data: NoticeData): boolean {
  if (!events.includes(data.event)) return false;
  if (!rehearsals && data.rehearsal === true) return false;
  if (projects?.some((project) => project === data.project || project === data.projectId) === false)
    return false;
  return packages?.some((name) => data.package.startsWith(name)) !== false;
}
