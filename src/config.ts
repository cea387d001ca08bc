import { delimiter, isAbsolute, join, parse, resolve } from "node:path";
import type { ClientConnectConfig } from "@temporalio/envconfig";
import { z } from "zod";
import { DEFAULT_TASK_QUEUE } from "./contract/names.js";
import { ConfigError } from "./environment/config-error.js";
import { type ListenAddress, listenAddress } from "./environment/listen-address.js";
import { platformDirectories } from "./environment/platform-directories.js";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel, wordOf } from "./environment/log-words.js";
import {
  type SecretFile,
  readSecretFile,
  secretFilesOf,
  secretOf,
  valueOf,
  withSecrets,
} from "./environment/secret-files.js";
import { readTemporal } from "./environment/temporal.js";
import { type TraceSettings, readTraces } from "./environment/traces.js";
import { type WorkerSize, workerSizeOf, workerSizeVariables } from "./environment/worker-size.js";
import { fetchEnvironment } from "./embedded/helper-environment.js";
import { type Webhook, webhooksOf } from "./core/notify/webhooks.js";
import { programsOf, tokenVariablesOf } from "./mcp/server-settings.js";
import type { ModelSettings } from "./model/chat.js";
import { ModelCatalog } from "./model/model-catalog.js";
import { MAX_MODEL_TIMEOUT_SECONDS, TIMEOUT_SENTENCE, modelUrl } from "./model/model-entries.js";
import { type SealKeys, parseSealKeys } from "./seal/seal-keys.js";
import { type Settings, readSettings, startsSchema } from "./settings-file.js";
import { homeDirectory } from "./store/disk/home-directory.js";
import type { RootPolicy } from "./store/roots/roots.js";
import { isMetadataValue } from "./core/header-value.js";
import { wordsOf } from "./core/system-code.js";

export { ConfigError };

/** Secrets that are read by these names; those of models are named in the settings file. */
const TEMPORAL_KEY = "TEMPORAL_API_KEY";
const SECRET_VARIABLES = ["OPENAI_API_KEY", TEMPORAL_KEY];

const flag = z.enum(["true", "false", "1", "0"]).transform((value) => value === "true" || value === "1");
const positiveInteger = z
  .string()
  .regex(/^[1-9]\d*$/, "must be a whole number above 0")
  .transform(Number);

/** What links begin with: they are printed, and sent to those who are told of runs. */
const webUiUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !URL.canParse(url) || !hasMoreThanPlace(new URL(url)), {
    error: "must hold no user name, no password, no query and no fragment: links begin with it",
  });

function hasMoreThanPlace({ username, password, search, hash }: URL): boolean {
  return `${username}${password}${search}${hash}` !== "";
}

/** The environment variables of Interlock itself. Temporal's own are read by its envconfig library. */
const environmentSchema = z.object({
  INTERLOCK_STORE: z.string().optional(),
  INTERLOCK_CACHE: z.string().optional(),
  INTERLOCK_TASK_QUEUE: z.string().default(DEFAULT_TASK_QUEUE),
  INTERLOCK_TEMPORAL_CLI: z.string().optional(),
  INTERLOCK_SETTINGS: z.string().optional(),
  INTERLOCK_PROJECT_ROOTS: z.string().optional(),
  INTERLOCK_STARTS: startsSchema.optional(),
  ...workerSizeVariables,
  INTERLOCK_MODEL: z.string().optional(),
  INTERLOCK_MODEL_STREAM: flag.default(false),
  INTERLOCK_MODEL_TIMEOUT_SECONDS: positiveInteger
    .refine((seconds) => seconds <= MAX_MODEL_TIMEOUT_SECONDS, TIMEOUT_SENTENCE)
    .default(540),
  INTERLOCK_CODEC_TOKEN: z
    .string()
    .regex(/^[\w-]{16,200}$/, "must be 16 to 200 letters, digits, - and _")
    .optional(),
  INTERLOCK_SEAL_KEYS: z.string().optional(),
  INTERLOCK_SEAL_KEYS_FILE: z.string().optional(),
  INTERLOCK_WEB_UI: webUiUrl.optional(),
  INTERLOCK_WEB_UI_CHECK: webUiUrl.optional(),
  INTERLOCK_METRICS: listenAddress.optional(),
  INTERLOCK_HEALTH: listenAddress.optional(),
  INTERLOCK_LOG_FORMAT: wordOf(LOG_FORMATS).default("text"),
  INTERLOCK_LOG_LEVEL: wordOf(LOG_LEVELS).default("info"),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_API_KEY_FILE: z.string().optional(),
  OPENAI_BASE_URL: modelUrl.optional(),
});

/** Every variable that Interlock reads, Temporal's aside. */
export const INTERLOCK_VARIABLES: readonly string[] = Object.keys(environmentSchema.shape);

/** Variables that look like Interlock's and mean nothing to it: misspelt ones, most likely. */
export function unknownVariables(variables: Environment = process.env): readonly string[] {
  return Object.keys(withoutEmpty(variables)).filter(
    (name) => name.startsWith("INTERLOCK_") && !INTERLOCK_VARIABLES.includes(name),
  );
}

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
  /** The key that Temporal is shown, as its file has it now; undefined where none holds it. */
  readonly temporalKey: (() => string) | undefined;
  /** The longest wait for one answer that any agent's settings allow, in milliseconds. */
  readonly longestModelTimeoutMs: number;
  /** Which models there are, and how they are reached. */
  readonly models: ModelCatalog;
  /** The model of an agent where a run says nothing of models; undefined where none is configured. */
  readonly modelSettingsFor: (agentId: string) => ModelSettings | undefined;
  readonly settings: Settings;
  /** The files that secrets are read from. */
  readonly secretFiles: readonly SecretFile[];
  /** A variable of the environment that the settings name, for an MCP server; of a token, or the file in its place. Throws `ConfigError`. */
  readonly variable: (name: string) => string | undefined;
  /** What is said of the directories that runs may open. */
  readonly roots: RootPolicy;
  /** Whose starts a worker takes. */
  readonly starts: z.infer<typeof startsSchema>;
  /** What payloads are sealed and opened with; undefined where nothing is sealed. */
  readonly sealKeys: SealKeys | undefined;
  /** What whoever asks the codec server has to know; undefined where each start makes one. */
  readonly codecToken: string | undefined;
  /** What the user writes longer texts in, as a shell takes it: `VISUAL`, else `EDITOR`. */
  readonly editor: string | undefined;
  /** Base URL of the Web UI of a configured Temporal, for links. */
  readonly webUi: string | undefined;
  /** Where it is asked whether that one answers, where this is not the address that people open: in a container. */
  readonly webUiCheck: string | undefined;
  /** Where metrics are served; undefined: nowhere. */
  readonly metrics: ListenAddress | undefined;
  /** Where a worker says whether it lives and is ready; undefined: nowhere. */
  readonly health: ListenAddress | undefined;
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevel;
  /** What OpenTelemetry's own variables say of traces; undefined: none are wanted. */
  readonly traces: TraceSettings | undefined;
  /** How much a worker does at once, where that is set. */
  readonly workerSize: WorkerSize;
  /** Who is told of runs; a worker tells them. */
  readonly webhooks: readonly Webhook[];
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
  const given = withoutEmpty(variables);
  const environment = withSecrets(given, SECRET_VARIABLES);
  const parsed = environmentSchema.safeParse(environment);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ConfigError(
      `${issue?.path.map(String).join(".")}: ${issue?.message}. Correct or unset this variable.`,
    );
  }
  const env = parsed.data;
  const { data, cache } = platformDirectories(given, process.platform, homeDirectory());
  const storeDir = folderOfItsOwn(resolve(env.INTERLOCK_STORE ?? join(data ?? nowhere(), "store")));
  const cacheDir = env.INTERLOCK_CACHE ?? cache ?? join(storeDir, "cache");
  const settings = withoutSettings ? {} : readSettings(env.INTERLOCK_SETTINGS, storeDir);
  const models = catalogOf(env, settings, given);
  const temporal = readTemporal(environment);
  const tokens = tokenVariablesOf(settings.mcpServers ?? {});
  const secretFiles = secretFilesOf(given, [...SECRET_VARIABLES, "INTERLOCK_SEAL_KEYS"], settings);
  return Object.freeze({
    storeDir,
    cacheDir,
    taskQueue: env.INTERLOCK_TASK_QUEUE,
    temporalCli: env.INTERLOCK_TEMPORAL_CLI,
    pathVariable: environment["PATH"] ?? ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    fetchEnvironment: fetchEnvironment(environment),
    temporal: temporal.connection,
    temporalKey: keyInFile(given, temporal.connection?.connectionOptions.apiKey),
    longestModelTimeoutMs: longestTimeoutMs(env, settings),
    models,
    modelSettingsFor: (agentId: string) => models.settingsFor(agentId),
    settings,
    secretFiles,
    variable: (name: string) => (tokens.has(name) ? secretOf(given, name) : valueOf(environment, name)),
    roots: {
      projectRoots: projectRoots(env.INTERLOCK_PROJECT_ROOTS, settings),
      privatePaths: [
        cacheDir,
        data,
        env.INTERLOCK_SETTINGS,
        env.INTERLOCK_TEMPORAL_CLI,
        ...temporal.privateFiles,
        ...programsOf(settings.mcpServers ?? {}),
        ...secretFiles.map(({ path }) => path),
      ]
        .filter((path) => path !== undefined)
        .map((path) => resolve(path)),
      protectedPaths: settings.protectedPaths,
    },
    starts: env.INTERLOCK_STARTS ?? settings.starts ?? "open",
    sealKeys: readSealKeys(env),
    codecToken: env.INTERLOCK_CODEC_TOKEN,
    editor: (isDumbTerminal(environment) ? undefined : environment["VISUAL"]) ?? environment["EDITOR"],
    webUi: env.INTERLOCK_WEB_UI,
    webUiCheck: env.INTERLOCK_WEB_UI_CHECK,
    metrics: env.INTERLOCK_METRICS,
    health: env.INTERLOCK_HEALTH,
    logFormat: env.INTERLOCK_LOG_FORMAT,
    logLevel: env.INTERLOCK_LOG_LEVEL,
    traces: readTraces(environment),
    workerSize: workerSizeOf(env, settings.worker),
    webhooks: webhooksOf(settings.notifications, variableOf(environment)),
  });
}

/** Whoever renews a key writes it into its file. One that cannot be read or shown now leaves the one before. */
function keyInFile(environment: Environment, atFirst: string | undefined): (() => string) | undefined {
  if (valueOf(environment, `${TEMPORAL_KEY}_FILE`) === undefined || atFirst === undefined) return undefined;
  let last = atFirst;
  return () => {
    try {
      const key = secretOf(environment, TEMPORAL_KEY);
      if (key !== undefined && isMetadataValue(key)) last = key;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
    }
    return last;
  };
}

/** A store in the root of the file system would hold every project there is. */
function folderOfItsOwn(storeDir: string): string {
  if (storeDir !== parse(storeDir).root) return storeDir;
  throw new ConfigError(
    `INTERLOCK_STORE: ${storeDir} is the root of the file system. Name a folder of the store's own.`,
  );
}

function nowhere(): never {
  throw new ConfigError(
    "There is no home directory to keep the store in: HOME is no absolute path, or it is unset and this machine does not know the user. Say with INTERLOCK_STORE where the store is.",
  );
}

/** Whether the terminal takes nothing but text. */
export function isDumbTerminal(variables: Environment = process.env): boolean {
  return variables["TERM"] === "dumb";
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

/** Keys are secrets: they come from a variable or from a file of their own, never from the settings. */
function readSealKeys(env: z.infer<typeof environmentSchema>): SealKeys | undefined {
  const { INTERLOCK_SEAL_KEYS: keys, INTERLOCK_SEAL_KEYS_FILE: path } = env;
  if (keys !== undefined && path !== undefined) {
    throw new ConfigError(
      "INTERLOCK_SEAL_KEYS and INTERLOCK_SEAL_KEYS_FILE are both set. Unset one of them.",
    );
  }
  if (keys === undefined && path === undefined) return undefined;
  const text = keys ?? readSecretFile(path ?? "", "INTERLOCK_SEAL_KEYS_FILE");
  try {
    return parseSealKeys(text);
  } catch (error) {
    const place = path === undefined ? "INTERLOCK_SEAL_KEYS" : `INTERLOCK_SEAL_KEYS_FILE: ${path}`;
    throw new ConfigError(`${place} ${wordsOf(error)}`);
  }
}

function longestTimeoutMs(
  env: z.infer<typeof environmentSchema>,
  { agents = {}, models = {} }: Settings,
): number {
  const named = [...Object.values(agents), ...Object.values(models)].map(
    ({ timeoutSeconds }) => timeoutSeconds ?? 0,
  );
  return Math.max(env.INTERLOCK_MODEL_TIMEOUT_SECONDS, ...named) * 1_000;
}

function catalogOf(
  env: z.infer<typeof environmentSchema>,
  settings: Settings,
  environment: Environment,
): ModelCatalog {
  return new ModelCatalog({
    model: env.INTERLOCK_MODEL ?? settings.model,
    baseUrl: env.OPENAI_BASE_URL,
    dialect: settings.dialect,
    contextTokens: settings.contextTokens,
    stream: env.INTERLOCK_MODEL_STREAM,
    timeoutMs: env.INTERLOCK_MODEL_TIMEOUT_SECONDS * 1_000,
    models: settings.models ?? {},
    agents: settings.agents ?? {},
    prices: settings.prices ?? {},
    variable: variableOf(environment),
  });
}

function variableOf(environment: Environment) {
  return (name: string) => secretOf(environment, name);
}
