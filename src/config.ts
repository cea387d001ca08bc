import { readFileSync } from "node:fs";
import { delimiter, isAbsolute, join, parse, resolve } from "node:path";
import { type ClientConnectConfig, loadClientConnectConfig } from "@temporalio/envconfig";
import envPaths from "env-paths";
import { z } from "zod";
import { DEFAULT_TASK_QUEUE } from "./contract/names.js";
import { fetchEnvironment } from "./embedded/helper-environment.js";
import { defined } from "./core/defined.js";
import { DEFAULT_PROTECTED_PATHS } from "./core/tools/name-rules.js";
import type { ModelSettings } from "./model/chat-model.js";
import { dialectSettingSchema } from "./model/dialects.js";
import { NotOurFile, readOwnFileSync } from "./store/disk/own-file.js";
import type { RootPolicy } from "./store/roots/roots.js";

/** A setting that cannot be used: the message names the variable or the place in the file, and the remedy. */
export class ConfigError extends Error {}

const flag = z.enum(["true", "false", "1", "0"]).transform((value) => value === "true" || value === "1");
const positiveInteger = z
  .string()
  .regex(/^[1-9]\d*$/, "must be a whole number above 0")
  .transform(Number);

/** A day: whoever waits longer for an answer waits for none. */
const MAX_MODEL_TIMEOUT_SECONDS = 86_400;
const TIMEOUT_SENTENCE = `must be at most ${MAX_MODEL_TIMEOUT_SECONDS}, a day`;

/** Where a model answers. What stands before an `@` would be sent nowhere, and fetch refuses it on each try. */
const modelUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !URL.canParse(url) || (new URL(url).username === "" && new URL(url).password === ""), {
    error: "must hold no user name and no password: give the key in its own variable",
  });

/** Whose starts a worker takes: those of whoever reaches Temporal, or those that are signed with the store's secret. */
const startsSchema = z.enum(["open", "signed"]);

/** The environment variables of Interlock itself. Temporal's own are read by its envconfig library. */
const environmentSchema = z.object({
  INTERLOCK_STORE: z.string().optional(),
  INTERLOCK_CACHE: z.string().optional(),
  INTERLOCK_TASK_QUEUE: z.string().optional(),
  INTERLOCK_TEMPORAL_CLI: z.string().optional(),
  INTERLOCK_SETTINGS: z.string().optional(),
  INTERLOCK_PROJECT_ROOTS: z.string().optional(),
  INTERLOCK_STARTS: startsSchema.optional(),
  INTERLOCK_MODEL: z.string().optional(),
  INTERLOCK_MODEL_STREAM: flag.optional(),
  INTERLOCK_MODEL_TIMEOUT_SECONDS: positiveInteger
    .refine((seconds) => seconds <= MAX_MODEL_TIMEOUT_SECONDS, TIMEOUT_SENTENCE)
    .optional(),
  INTERLOCK_WEB_UI: z.url({ protocol: /^https?$/ }).optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: modelUrl.optional(),
});

/** Every variable that Interlock reads, Temporal's aside. */
export const INTERLOCK_VARIABLES: readonly string[] = Object.keys(environmentSchema.shape);

/** Tokens of a request and its answer together. In fewer, a node's first messages do not fit. */
const contextLength = z.int().min(1_024);

const modelOverrideSchema = z.strictObject({
  model: z.string().min(1).optional(),
  baseUrl: modelUrl.optional(),
  /** The name of the environment variable that holds the key: keys themselves do not belong in a file. */
  apiKeyVariable: z.string().min(1).optional(),
  stream: z.boolean().optional(),
  timeoutSeconds: z.int().min(1).max(MAX_MODEL_TIMEOUT_SECONDS, TIMEOUT_SENTENCE).optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).optional(),
  contextTokens: contextLength.optional(),
  /** How the endpoint wants to be spoken to, where its address does not tell. */
  dialect: dialectSettingSchema.optional(),
});

/** Empty names would be those of no file, and of every rule's end. */
const protectedNames = z.array(
  z.string().regex(/^(?![\s\S]*\0)[^/]+(?:\/[^/]+)*$/, "must be names, as in .vscode/tasks.json"),
);

/** The settings file, `settings.json` in the store unless `INTERLOCK_SETTINGS` names another. */
const settingsSchema = z.strictObject({
  /** As an agent's, for every agent at the common endpoint. */
  dialect: dialectSettingSchema.optional(),
  /** As an agent's, for every agent that names neither a model nor an endpoint of its own. */
  contextTokens: contextLength.optional(),
  /** Model overrides by agent id. */
  agents: z.record(z.string(), modelOverrideSchema).optional(),
  /** What a model's tokens cost, by model name, for budgets and reports. */
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
  /** Absolute paths: runs may work in these directories and below without their being registered. */
  projectRoots: z.array(z.string()).optional(),
  /** `signed`: workers take starts and updates only with a signature. `INTERLOCK_STARTS` takes its place. */
  starts: startsSchema.optional(),
});
type Settings = z.infer<typeof settingsSchema>;

export interface Config {
  readonly storeDir: string;
  readonly cacheDir: string;
  /** The queue of a store that is new; a store keeps the one it was made with. */
  readonly taskQueue: string;
  readonly temporalCli: string | undefined;
  /** PATH, for finding the Temporal CLI. */
  readonly pathVariable: string;
  /** What a fetch of the Temporal CLI gets of the environment: nothing secret. */
  readonly fetchEnvironment: Readonly<Record<string, string>>;
  /** The configured Temporal; undefined means the embedded server. */
  readonly temporal: ClientConnectConfig | undefined;
  /** The longest wait for one answer that any agent's settings allow, in milliseconds. */
  readonly longestModelTimeoutMs: number;
  /** The model of an agent; undefined where none is configured. */
  readonly modelSettingsFor: (agentId: string) => ModelSettings | undefined;
  readonly settings: Settings;
  /** What is said of the directories that runs may open. */
  readonly roots: RootPolicy;
  /** Whose starts a worker takes. */
  readonly starts: z.infer<typeof startsSchema>;
  /** Base URL of the Web UI of a configured Temporal, for links. */
  readonly webUi: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads environment and settings file into one frozen value. Empty variables count as unset.
 * Throws `ConfigError` for values that cannot be used. `withoutSettings` leaves the settings file alone, for who looks at what
 * else there is when it cannot be used.
 */
export function loadConfig(
  variables: Environment = process.env,
  { withoutSettings = false }: { readonly withoutSettings?: boolean } = {},
): Config {
  const environment = withoutEmpty(variables);
  const parsed = environmentSchema.safeParse(environment);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ConfigError(
      `${issue?.path.map(String).join(".")}: ${issue?.message}. Correct or unset this variable.`,
    );
  }
  const env = parsed.data;
  const paths = envPaths("interlock", { suffix: "" });
  const storeDir = resolve(env.INTERLOCK_STORE ?? join(paths.data, "store"));
  const settings = withoutSettings ? {} : readSettings(env.INTERLOCK_SETTINGS, storeDir);
  return Object.freeze({
    storeDir,
    cacheDir: env.INTERLOCK_CACHE ?? paths.cache,
    taskQueue: env.INTERLOCK_TASK_QUEUE ?? DEFAULT_TASK_QUEUE,
    temporalCli: env.INTERLOCK_TEMPORAL_CLI,
    pathVariable: environment["PATH"] ?? ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    fetchEnvironment: fetchEnvironment(environment),
    temporal: readTemporal(environment),
    longestModelTimeoutMs: longestTimeoutMs(env, settings),
    modelSettingsFor: (agentId: string) => modelSettings(env, settings, environment, agentId),
    settings,
    roots: {
      projectRoots: projectRoots(env.INTERLOCK_PROJECT_ROOTS, settings),
      privatePaths: [env.INTERLOCK_CACHE ?? paths.cache, paths.data, env.INTERLOCK_SETTINGS ?? storeDir].map(
        (path) => resolve(path),
      ),
      protectedPaths: settings.protectedPaths,
    },
    starts: env.INTERLOCK_STARTS ?? settings.starts ?? "open",
    webUi: env.INTERLOCK_WEB_UI,
  });
}

function withoutEmpty(variables: Environment): Record<string, string> {
  const entries = Object.entries(variables).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(entries);
}

/** Those of the variable and of the settings file. */
function projectRoots(variable: string | undefined, settings: Settings): readonly string[] {
  const check = (path: string, place: string) => {
    if (isAbsolute(path) && resolve(path) !== parse(path).root) return resolve(path);
    throw new ConfigError(
      `${place}: "${path}" must be the absolute path of a directory other than the root of the file system. Correct it.`,
    );
  };
  const named = (variable ?? "").split(delimiter).filter((path) => path !== "");
  return [
    ...named.map((path) => check(path, "INTERLOCK_PROJECT_ROOTS")),
    ...(settings.projectRoots ?? []).map((path) => check(path, "The settings file's projectRoots")),
  ];
}

/** The same files and variables as the Temporal CLI; nothing configured there means the embedded server. */
function readTemporal(environment: Record<string, string>): ClientConnectConfig | undefined {
  let loaded: ClientConnectConfig;
  try {
    loaded = loadClientConnectConfig({ overrideEnvVars: environment });
  } catch (error) {
    throw new ConfigError(
      `Temporal's configuration cannot be used: ${error instanceof Error ? error.message : ""}`,
    );
  }
  return loaded.connectionOptions.address === undefined ? undefined : loaded;
}

function readSettings(configured: string | undefined, storeDir: string): Settings {
  const path = configured ?? join(storeDir, "settings.json");
  let text: string;
  try {
    // In the store it is a file of ours; one that the operator names may be a link, as mounted settings are.
    text = configured === undefined ? readOwnFileSync(path).toString("utf8") : readFileSync(path, "utf8");
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (configured === undefined && isMissing) return {};
    if (error instanceof NotOurFile) {
      throw new ConfigError(
        `The settings file ${path} cannot be read: it must be a file, and no link. Remove it; another one can be named by INTERLOCK_SETTINGS.`,
      );
    }
    const subject =
      configured === undefined ? `The settings file ${path}` : `INTERLOCK_SETTINGS names ${path}, which`;
    throw new ConfigError(`${subject} cannot be read. Correct it or remove it.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ConfigError(`The settings file ${path} is not valid JSON. Correct it.`);
  }
  const parsed = settingsSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ConfigError(
    `The settings file ${path} is not valid at ${issue?.path.map(String).join(".") || "its root"}: ${issue?.message}. Correct it.`,
  );
}

const DEFAULT_MODEL_TIMEOUT_SECONDS = 540;

function longestTimeoutMs(env: z.infer<typeof environmentSchema>, { agents = {} }: Settings): number {
  const general = env.INTERLOCK_MODEL_TIMEOUT_SECONDS ?? DEFAULT_MODEL_TIMEOUT_SECONDS;
  const named = Object.values(agents).map(({ timeoutSeconds }) => timeoutSeconds ?? 0);
  return Math.max(general, ...named) * 1_000;
}

function modelSettings(
  env: z.infer<typeof environmentSchema>,
  settings: Settings,
  environment: Environment,
  agentId: string,
): ModelSettings | undefined {
  const agents = settings.agents ?? {};
  const override = (Object.hasOwn(agents, agentId) ? agents[agentId] : undefined) ?? {};
  const baseUrl = override.baseUrl ?? env.OPENAI_BASE_URL;
  const keyVariable = override.apiKeyVariable ?? "";
  const ownKey = Object.hasOwn(environment, keyVariable) ? environment[keyVariable] : undefined;
  // A key goes only to the endpoint it was given for: an agent's own endpoint gets its own key or none.
  const apiKey = ownKey ?? (override.baseUrl === undefined ? env.OPENAI_API_KEY : undefined);
  const model = override.model ?? env.INTERLOCK_MODEL;
  if (model === undefined || (baseUrl === undefined && apiKey === undefined)) return undefined;
  // Like a key, a dialect belongs to the endpoint that it was given for.
  const dialect = override.dialect ?? (override.baseUrl === undefined ? settings.dialect : undefined);
  const isCommonModel = override.baseUrl === undefined && override.model === undefined;
  const contextTokens = override.contextTokens ?? (isCommonModel ? settings.contextTokens : undefined);
  const prices = settings.prices ?? {};
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  return {
    model,
    ...defined({ price, baseUrl, apiKey }),
    stream: override.stream ?? env.INTERLOCK_MODEL_STREAM ?? false,
    timeoutMs:
      (override.timeoutSeconds ?? env.INTERLOCK_MODEL_TIMEOUT_SECONDS ?? DEFAULT_MODEL_TIMEOUT_SECONDS) *
      1_000,
    ...defined({ temperature: override.temperature, maxTokens: override.maxTokens, contextTokens, dialect }),
  };
}
