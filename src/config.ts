import { readFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { type ClientConnectConfig, loadClientConnectConfig } from "@temporalio/envconfig";
import envPaths from "env-paths";
import { z } from "zod";
import { DEFAULT_TASK_QUEUE } from "./contract/names.js";
import type { ModelSettings } from "./model/chat-model.js";

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

/** The environment variables of Interlock itself. Temporal's own are read by its envconfig library. */
const environmentSchema = z.object({
  INTERLOCK_STORE: z.string().optional(),
  INTERLOCK_CACHE: z.string().optional(),
  INTERLOCK_TASK_QUEUE: z.string().optional(),
  INTERLOCK_TEMPORAL_CLI: z.string().optional(),
  INTERLOCK_SETTINGS: z.string().optional(),
  INTERLOCK_MODEL: z.string().optional(),
  INTERLOCK_MODEL_STREAM: flag.optional(),
  INTERLOCK_MODEL_TIMEOUT_SECONDS: positiveInteger
    .refine((seconds) => seconds <= MAX_MODEL_TIMEOUT_SECONDS, TIMEOUT_SENTENCE)
    .optional(),
  INTERLOCK_WEB_UI: z.url({ protocol: /^https?$/ }).optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
});

/** Every variable that Interlock reads, Temporal's aside. */
export const INTERLOCK_VARIABLES: readonly string[] = Object.keys(environmentSchema.shape);

const modelOverrideSchema = z.strictObject({
  model: z.string().min(1).optional(),
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
  /** The name of the environment variable that holds the key: keys themselves do not belong in a file. */
  apiKeyVariable: z.string().min(1).optional(),
  stream: z.boolean().optional(),
  timeoutSeconds: z.int().min(1).max(MAX_MODEL_TIMEOUT_SECONDS, TIMEOUT_SENTENCE).optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).optional(),
});

/** The settings file, `settings.json` in the store unless `INTERLOCK_SETTINGS` names another. */
const settingsSchema = z.strictObject({
  /** Model overrides by agent id. */
  agents: z.record(z.string(), modelOverrideSchema).optional(),
  /** What a model's tokens cost, by model name, for budgets and reports. */
  prices: z
    .record(
      z.string(),
      z.strictObject({ inputPerMillion: z.number().min(0), outputPerMillion: z.number().min(0) }),
    )
    .optional(),
  /** Names in @project that the file tools keep away from; `*` stands for any text. */
  protectedPaths: z
    .strictObject({
      notWritable: z.array(z.string()).default([".git"]),
      notAccessible: z.array(z.string()).default([".env", ".env.*"]),
      allowed: z.array(z.string()).default([".env.example"]),
    })
    .optional(),
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
  /** The configured Temporal; undefined means the embedded server. */
  readonly temporal: ClientConnectConfig | undefined;
  /** The longest wait for one answer that any agent's settings allow, in milliseconds. */
  readonly longestModelTimeoutMs: number;
  /** The model of an agent; undefined where none is configured. */
  readonly modelSettingsFor: (agentId: string) => ModelSettings | undefined;
  readonly settings: Settings;
  /** Base URL of the Web UI of a configured Temporal, for links. */
  readonly webUi: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads environment and settings file into one frozen value. Empty variables count as unset.
 * Throws `ConfigError` for values that cannot be used.
 */
export function loadConfig(variables: Environment = process.env): Config {
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
  const settings = readSettings(env.INTERLOCK_SETTINGS, storeDir);
  return Object.freeze({
    storeDir,
    cacheDir: env.INTERLOCK_CACHE ?? paths.cache,
    taskQueue: env.INTERLOCK_TASK_QUEUE ?? DEFAULT_TASK_QUEUE,
    temporalCli: env.INTERLOCK_TEMPORAL_CLI,
    pathVariable: environment["PATH"] ?? ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    temporal: readTemporal(environment),
    longestModelTimeoutMs: longestTimeoutMs(env, settings),
    modelSettingsFor: (agentId: string) => modelSettings(env, settings, environment, agentId),
    settings,
    webUi: env.INTERLOCK_WEB_UI,
  });
}

function withoutEmpty(variables: Environment): Record<string, string> {
  const entries = Object.entries(variables).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(entries);
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
    text = readFileSync(path, "utf8");
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (configured === undefined && isMissing) return {};
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
  const prices = settings.prices ?? {};
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  return {
    model,
    ...(price === undefined ? {} : { price }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
    stream: override.stream ?? env.INTERLOCK_MODEL_STREAM ?? false,
    timeoutMs:
      (override.timeoutSeconds ?? env.INTERLOCK_MODEL_TIMEOUT_SECONDS ?? DEFAULT_MODEL_TIMEOUT_SECONDS) *
      1_000,
    ...(override.temperature === undefined ? {} : { temperature: override.temperature }),
    ...(override.maxTokens === undefined ? {} : { maxTokens: override.maxTokens }),
  };
}
