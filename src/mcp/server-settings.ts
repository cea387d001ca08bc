import { isAbsolute } from "node:path";
import { z } from "zod";
import { NO_HEADER_VALUE, headerNameProblem, isHeaderValue } from "../core/header-value.js";
import { SERVER_NAME, isServerName } from "../core/server-name.js";
import { wordsOf } from "../core/system-code.js";
import { secretVariable } from "../core/variable-name.js";
import { PROJECT, namesProject, projectProblem } from "./project-paths.js";

/**
 * Where a server works that names no directory, in the store: a program looks around where it is, and above, for what it runs and how (`npx`, `uvx`,
 * `python -m`). In the directory for temporary files anybody on the machine leaves it something.
 */
export const SERVERS_FOLDER = "mcp-servers";

const DEFAULT_TIMEOUT_SECONDS = 60;
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable");
const plainText = z.string().regex(/^[^\0]*$/, "must hold no NUL");
/** A text in which `@project` is the run's project. */
const placeText = plainText.superRefine((text, context) => {
  const message = projectProblem(text);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});

/** As other programs' settings have it for a variable of theirs. */
const VARIABLE_OF_OTHERS = /^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/;
const valueText = placeText.superRefine((text, context) => {
  const [, name] = VARIABLE_OF_OTHERS.exec(text) ?? [];
  if (name === undefined) return;
  context.addIssue({ code: "custom", message: `is handed on as it stands: name ${name} in envVariables` });
});

const common = {
  /** The longest wait for one call. */
  timeoutSeconds: z.int().min(1).max(3600).default(DEFAULT_TIMEOUT_SECONDS),
  /** The tools that agents may be offered, by the server's names for them. Absent: all. */
  tools: z.array(z.string()).optional(),
  /** What calls of a tool change, where the server's annotations say nothing of it, or are not to be believed. */
  effects: z.record(z.string(), z.enum(["none", "idempotent", "once"])).default({}),
};

const stdioServer = z.strictObject({
  /** The program, started without a shell. */
  command: plainText.min(1),
  args: z.array(placeText).default([]),
  /** An absolute path, or `@project`: a process for each project, in it. Absent: `SERVERS_FOLDER`. */
  cwd: z
    .string()
    .refine((path) => path === PROJECT || isAbsolute(path), "must be an absolute path or @project")
    .optional(),
  /** Variables with their values: what is secret does not belong here. */
  env: z.record(variable, valueText).default({}),
  /** Variables of the worker that the server is given. */
  envVariables: z.array(variable).default([]),
  ...common,
});

const httpFields = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .refine((url) => URL.canParse(url) && new URL(url).username === "" && new URL(url).password === "", {
      message: "must hold no user name and no password: name a variable in bearerVariable",
    }),
  /** The variable that holds the token it wants. */
  bearerVariable: secretVariable.optional(),
  /** Other headers that it wants, such as `X-Api-Key`, with the variables that hold their values. */
  headerVariables: z.record(z.string(), secretVariable).default({}),
  ...common,
});

/** A header is said once, and its name is one in any case. */
const httpServer = httpFields.superRefine(({ bearerVariable, headerVariables }, context) => {
  const said = new Map(bearerVariable === undefined ? [] : [["authorization", "bearerVariable"]]);
  for (const name of Object.keys(headerVariables)) {
    const before = said.get(name.toLowerCase());
    const message = headerNameProblem(name) ?? (before && `is the header of ${before} as well: name it once`);
    if (message) context.addIssue({ code: "custom", path: ["headerVariables", name], message });
    said.set(name.toLowerCase(), name);
  }
});

const serverSchema = z.unknown().transform((value, context) => {
  const isHttp = typeof value === "object" && value !== null && "url" in value;
  const parsed = (isHttp ? httpServer : stdioServer).safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    const unknown = issue.code === "unrecognized_keys" ? issue.keys : [];
    const hints = unknown.flatMap((key) => (Object.hasOwn(OF_OTHERS, key) ? [OF_OTHERS[key]] : []));
    const message = [issue.message, ...hints].join(". ");
    context.addIssue({ code: "custom", path: [...issue.path], message });
  }
  return z.NEVER;
});

/** What stands in other programs' settings for the same servers, and what to do about it here. */
const OF_OTHERS: Readonly<Record<string, string>> = {
  type: "Leave type out: command or url says which it is",
  transport: "Leave transport out: command or url says which it is",
  headers:
    "In place of an Authorization header, name the worker's variable with the token in bearerVariable; those of other headers in headerVariables",
  httpUrl: "Say url in place of httpUrl",
  serverUrl: "Say url in place of serverUrl",
  timeout: "Say timeoutSeconds in place of timeout, in seconds",
};

/** MCP servers by the names that agents' policies call them. */
export const mcpServersSchema = z.record(z.string(), serverSchema).superRefine((servers, context) => {
  const wrong = Object.keys(servers).find((name) => !isServerName(name));
  if (wrong === undefined) return;
  context.addIssue({ code: "custom", path: [wrong], message: SERVER_NAME });
});

export type McpServers = z.infer<typeof mcpServersSchema>;
export type StdioServer = z.infer<typeof stdioServer>;
export type HttpServer = z.infer<typeof httpServer>;
export type McpServer = StdioServer | HttpServer;

/** Whether each project has a process of its own. */
export function isOfProject(server: McpServer): boolean {
  if (!("command" in server)) return false;
  return server.cwd === PROJECT || [...server.args, ...Object.values(server.env)].some(namesProject);
}

/** What an interpreter is given to run, by its name. */
const SCRIPT = /\.(?:[cm]?[jt]s|py|rb|pl|php|sh|jar|dll)$/i;

/** The programs of servers that the settings name by absolute paths: who changes one of them changes what a worker runs. */
export function programsOf(servers: McpServers): readonly string[] {
  return Object.values(servers).flatMap((server) => {
    if (!("command" in server)) return [];
    const scripts = server.args.filter((arg) => SCRIPT.test(arg));
    return [server.command, ...scripts].filter((path) => isAbsolute(path));
  });
}

/** The variables that hold what a server wants to be told in headers. */
export function tokenVariables({ bearerVariable, headerVariables }: HttpServer): readonly string[] {
  return [...(bearerVariable === undefined ? [] : [bearerVariable]), ...Object.values(headerVariables)];
}

/** Those of all servers. */
export function tokenVariablesOf(servers: McpServers): ReadonlySet<string> {
  return new Set(Object.values(servers).flatMap((server) => ("url" in server ? tokenVariables(server) : [])));
}

/** Why a token that a server wants cannot be sent: its variable is not set, its file cannot be read, or it is what no header can carry. */
export function tokenProblem(
  server: HttpServer,
  variable: (name: string) => string | undefined,
): string | undefined {
  for (const name of tokenVariables(server)) {
    let token: string | undefined;
    try {
      token = variable(name);
    } catch (error) {
      return wordsOf(error).replace(/\.$/, "");
    }
    if (token === undefined) return `the variable ${name} is not set`;
    // Blanks and line breaks around it are left out of the header.
    if (!isHeaderValue(token.trim())) return `the variable ${name} ${NO_HEADER_VALUE}`;
  }
  return undefined;
}
