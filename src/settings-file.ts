import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type JsonText, linesInJson, parseJsonText } from "./core/json-text.js";
import { notificationsSchema } from "./core/notify/webhooks.js";
import { DEFAULT_PROTECTED_PATHS } from "./core/tools/name-rules.js";
import { writtenText } from "./core/written-text.js";
import { ConfigError } from "./environment/config-error.js";
import { wordOf } from "./environment/log-words.js";
import { workerSizeSchema } from "./environment/worker-size.js";
import { mcpServersSchema } from "./mcp/server-settings.js";
import { dialectSettingSchema } from "./model/dialects.js";
import {
  contextLength,
  fallbackProblem,
  modelEntriesSchema,
  modelOverrideSchema,
} from "./model/model-entries.js";
import { NotOurFile, readOwnFileSync } from "./store/disk/own-file.js";
import { systemCode, unreadFault } from "./core/system-code.js";

/** Whose starts a worker takes: those of whoever reaches Temporal, or those that are signed with the store's secret. */
export const startsSchema = wordOf(["open", "signed"]);

/** Empty names would be those of no file, and of every rule's end. */
const protectedNames = z.array(
  z.string().regex(/^(?![\s\S]*\0)[^/]+(?:\/[^/]+)*$/, "must be names, as in .vscode/tasks.json"),
);

/** The settings file, `settings.json` in the store unless `INTERLOCK_SETTINGS` names another. */
const settingsSchema = z.strictObject({
  /** The model of runs that name none: one of `models`, or what the common endpoint calls it. `INTERLOCK_MODEL` takes its place. */
  model: z.string().min(1).optional(),
  /** Models by the names that runs, agents and fallbacks call them. */
  models: modelEntriesSchema.optional(),
  /** As an agent's, for every agent at the common endpoint. */
  dialect: dialectSettingSchema.optional(),
  /** As an agent's, for every agent that names neither a model nor an endpoint of its own. */
  contextTokens: contextLength.optional(),
  /** Model overrides by agent id. */
  agents: z.record(z.string(), modelOverrideSchema).optional(),
  /** What a model's tokens cost, by its name in `models` or at its endpoint, for budgets and reports. */
  prices: z
    .record(
      z.string(),
      z.strictObject({
        inputPerMillion: z.number().min(0),
        outputPerMillion: z.number().min(0),
        /** Of prompt tokens that come from the provider's cache; as others where it is absent. */
        cachedInputPerMillion: z.number().min(0).optional(),
      }),
    )
    .optional(),
  /**
   * Names in @project that the file tools keep away from; `*` stands for any text within a name. `notWritable`,
   * `notAccessible` and `allowed` take the place of a list, the `also…` add to it.
   */
  protectedPaths: z
    .strictObject({
      notWritable: protectedNames.default([...DEFAULT_PROTECTED_PATHS.notWritable]),
      notAccessible: protectedNames.default([...DEFAULT_PROTECTED_PATHS.notAccessible]),
      allowed: protectedNames.default([...DEFAULT_PROTECTED_PATHS.allowed]),
      alsoNotWritable: protectedNames.default([]),
      alsoNotAccessible: protectedNames.default([]),
      alsoAllowed: protectedNames.default([]),
    })
    .transform((lists) => ({
      notWritable: [...lists.notWritable, ...lists.alsoNotWritable],
      notAccessible: [...lists.notAccessible, ...lists.alsoNotAccessible],
      allowed: [...lists.allowed, ...lists.alsoAllowed],
    }))
    .optional(),
  /** MCP servers whose tools agents may use that their package allows them. */
  mcpServers: mcpServersSchema.optional(),
  /** Absolute paths: runs may work in these directories and below without their being registered. */
  projectRoots: z.array(z.string()).optional(),
  /** `signed`: workers take starts and updates only with a signature. `INTERLOCK_STARTS` takes its place. */
  starts: startsSchema.optional(),
  /** How much a worker does at once. Variables take its place. */
  worker: workerSizeSchema.optional(),
  /** Who is told of runs, and of what. */
  notifications: notificationsSchema.optional(),
});
export type Settings = z.infer<typeof settingsSchema>;

/** The keys of the settings file. */
export const SETTINGS_KEYS: readonly string[] = Object.keys(settingsSchema.shape);

type RefusedJson = Extract<JsonText, { ok: false }>;

/** Reads the settings file; none where nothing configured one and the store has none. Throws `ConfigError`. */
export function readSettings(configured: string | undefined, storeDir: string): Settings {
  const path = configured ?? join(storeDir, "settings.json");
  let bytes: Buffer;
  try {
    // In the store it is a file of ours; one that the operator names may be a link, as mounted settings are.
    bytes = configured === undefined ? readOwnFileSync(path) : readFileSync(path);
  } catch (error) {
    const code = systemCode(error);
    if (configured === undefined && code === "ENOENT") return {};
    throw notRead(path, configured === undefined, error instanceof NotOurFile ? "NOT_OURS" : code);
  }
  const written = writtenText(bytes);
  if ("problem" in written) throw new ConfigError(`The settings file ${path} ${written.problem}.`);
  const json = parseJsonText(written.text);
  if (!json.ok) throw notJson(path, written.text, json);
  const parsed = settingsSchema.safeParse(json.value);
  if (parsed.success) {
    const problem = fallbackProblem(parsed.data);
    if (problem === undefined) return parsed.data;
    throw new ConfigError(`The settings file ${path} is not valid at ${problem}. Correct it.`);
  }
  const { place, message } = saidOf(parsed.error.issues[0]);
  throw notValid(path, place, message);
}

/** The store's own settings are read before anything else of it: what is wrong with the way there is said here. */
function notRead(path: string, isOwn: boolean, code: string | undefined): ConfigError {
  const file = `The settings file ${path}`;
  if (code === "NOT_OURS") {
    return new ConfigError(
      `${file} cannot be read: it must be a file, and no link. Remove it; another one can be named by INTERLOCK_SETTINGS.`,
    );
  }
  const unread = unreadFault(file, code); // it may be whole: nobody is to remove it
  if (unread !== undefined) return new ConfigError(unread.error.message);
  if (!isOwn)
    return new ConfigError(
      `INTERLOCK_SETTINGS names ${path}, which cannot be read. Correct it or remove it.`,
    );
  const store = "INTERLOCK_STORE says where the store is.";
  if (code === "EACCES")
    return new ConfigError(`${file} may not be read by this user: the store may be another's. ${store}`);
  if (code === "ENOTDIR")
    return new ConfigError(
      `${file} cannot be read: a file stands where a folder on its path should. ${store}`,
    );
  return new ConfigError(`${file} cannot be read (${code ?? "unknown"}). ${store}`);
}

/** What is no JSON names its line already; of a key that may not stand where it does, the line is told. */
function notJson(path: string, text: string, { path: place, message }: RefusedJson): ConfigError {
  if (message.startsWith("is ")) return new ConfigError(`The settings file ${path} ${message}. Correct it.`);
  const [line] = linesInJson(text, [place.map(String)]);
  return notValid(path, place, line === undefined ? message : `line ${line}: ${message}`);
}

function notValid(path: string, place: readonly PropertyKey[], message: string): ConfigError {
  const at = place.map(String).join(".") || "its root";
  return new ConfigError(`The settings file ${path} is not valid at ${at}: ${message}. Correct it.`);
}

interface Said {
  readonly place: readonly PropertyKey[];
  readonly message: string;
}

/** What is wrong, in the words that say most: those of a key, and those of the form that a value comes nearest to. */
function saidOf(issue: z.core.$ZodIssue | undefined): Said {
  const { path: place = [], message = "Invalid input" } = issue ?? {};
  if (issue?.code === "invalid_key") return { place, message: issue.issues[0]?.message ?? message };
  if (issue?.code !== "invalid_union") return { place, message };
  const forms = issue.errors.map(([first]) => saidOf(first));
  const [nearest] = forms.toSorted((a, b) => b.place.length - a.place.length);
  if (nearest !== undefined && nearest.place.length > 0)
    return { place: [...place, ...nearest.place], message: nearest.message };
  return { place, message: [...new Set(forms.map((form) => form.message))].join(", or ") || message };
}
