import { z } from "zod";
import { MAX_MODELS_IN_CHAIN } from "../core/run/limits.js";
import { secretVariable } from "../core/variable-name.js";
import { dialectSettingSchema } from "./dialects.js";

/** Models as the operator of a worker writes them down, in the environment and in the settings file. */

/** A day: whoever waits longer for an answer waits for none. */
export const MAX_MODEL_TIMEOUT_SECONDS = 86_400;
export const TIMEOUT_SENTENCE = `must be at most ${MAX_MODEL_TIMEOUT_SECONDS}, a day`;

/** Where a model answers. What stands before an `@` would be sent nowhere, and fetch refuses it on each try. */
export const modelUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !URL.canParse(url) || (new URL(url).username === "" && new URL(url).password === ""), {
    error: "must hold no user name and no password: give the key in its own variable",
  });

/** Tokens of a request and its answer together. In fewer, a node's first messages do not fit. */
export const contextLength = z.int().min(1_024);

/** What the engine says of each request, or counts on: how many answers come, and in what form. */
const SAID_BY_ENGINE: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "tools",
  "functions",
  "stream",
  "stream_options",
  "n",
  "temperature",
  "max_tokens",
  "max_completion_tokens",
]);

/** What a request has beside what the engine says, as its provider calls it. */
const parametersSchema = z.record(z.string().min(1), z.json()).superRefine((parameters, context) => {
  for (const name of Object.keys(parameters).filter((key) => SAID_BY_ENGINE.has(key))) {
    const message = "is what Interlock sets itself: leave it out, or use the setting for it";
    context.addIssue({ code: "custom", path: [name], message });
  }
});

const fields = {
  baseUrl: modelUrl.optional(),
  /** The name of the environment variable that holds the key: keys themselves do not belong in a file. */
  apiKeyVariable: secretVariable.optional(),
  stream: z.boolean().optional(),
  timeoutSeconds: z.int().min(1).max(MAX_MODEL_TIMEOUT_SECONDS, TIMEOUT_SENTENCE).optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).optional(),
  parameters: parametersSchema.optional(),
  contextTokens: contextLength.optional(),
  /** How the endpoint wants to be spoken to, where its address does not tell. */
  dialect: dialectSettingSchema.optional(),
  /** Names of `models`: asked, in this order, where the model fails. */
  fallbacks: z
    .array(z.string().min(1))
    .max(MAX_MODELS_IN_CHAIN - 1)
    .optional(),
};

/** One of `models`. Without a base URL it is at the common endpoint. */
const modelEntrySchema = z.strictObject({ model: z.string().min(1), ...fields });
export type ModelEntry = z.infer<typeof modelEntrySchema>;

/** What an agent has of its own. Its `model` may be the name of an entry: the rest is then said of that. */
export const modelOverrideSchema = z.strictObject({ model: z.string().min(1).optional(), ...fields });
export type ModelOverride = z.infer<typeof modelOverrideSchema>;

const MAX_ENTRY_NAME_CHARS = 100;

/** The entries by their names, which people type and see. */
export const modelEntriesSchema = z.record(
  z
    .string()
    .max(MAX_ENTRY_NAME_CHARS)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/,
      "must be a name: letters, digits, and . _ : / - after the first",
    ),
  modelEntrySchema,
);

interface Named {
  readonly models?: Readonly<Record<string, ModelEntry>> | undefined;
  readonly agents?: Readonly<Record<string, ModelOverride>> | undefined;
}

/** What is wrong with the fallbacks: the place of one that names no entry, or that leads back to itself; undefined where nothing is. */
export function fallbackProblem({ models = {}, agents = {} }: Named): string | undefined {
  const entries = new Map(Object.entries(models));
  for (const [place, { fallbacks = [] }] of [...placed("models", models), ...placed("agents", agents)]) {
    for (const [index, name] of fallbacks.entries()) {
      if (entries.has(name)) continue;
      return `${place}.fallbacks.${index}: "${name}" is not in models`;
    }
  }
  for (const name of entries.keys()) {
    const circle = circleFrom(name, entries, []);
    if (circle !== undefined) return `models.${name}.fallbacks: ${circle.join(" → ")} is a circle`;
    const { length } = expand([name], entries);
    if (length > MAX_MODELS_IN_CHAIN)
      return `models.${name}.fallbacks: ${length} models follow one another; at most ${MAX_MODELS_IN_CHAIN} may`;
  }
  return undefined;
}

function placed<E>(group: string, entries: Readonly<Record<string, E>>): readonly (readonly [string, E])[] {
  return Object.entries(entries).map(([name, entry]) => [`${group}.${name}`, entry]);
}

function circleFrom(
  name: string,
  entries: ReadonlyMap<string, ModelEntry>,
  way: readonly string[],
): readonly string[] | undefined {
  if (way.includes(name)) return way[0] === name ? [...way, name] : undefined; // another one's circle is told there
  for (const next of entries.get(name)?.fallbacks ?? []) {
    const circle = circleFrom(next, entries, [...way, name]);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

/** The names, and after each what it falls back to: each once, where it comes first. */
export function expand(
  names: readonly string[],
  entries: ReadonlyMap<string, { readonly fallbacks?: readonly string[] | undefined }>,
): readonly string[] {
  const found = new Set<string>();
  const add = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    for (const next of entries.get(name)?.fallbacks ?? []) add(next);
  };
  for (const name of names) add(name);
  return [...found];
}
