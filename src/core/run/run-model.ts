import { z } from "zod";

/** A model as a run knows it: what it is called, and where it answers. Never a key. */
export interface ModelRef {
  /** Its name under `models` in the worker's settings, where it has one. */
  readonly name?: string;
  /** What its endpoint calls it. */
  readonly model: string;
  /** Its base URL, normalised and without its query. */
  readonly endpoint: string;
  /** The worker that chose it had a key for that endpoint: one without leaves the turn to others. */
  readonly keyed?: true;
}

/** Whose an answer is: the model's name, where it has one, and what its endpoint calls it. */
export type AnsweredBy = Pick<ModelRef, "name" | "model">;

/** What a run is started with, where it is not to be the worker's default. It names no key, and makes no endpoint known. */
export interface WantedModel {
  /** An entry of `models` in the worker's settings. With `model` or `baseUrl`, the entry must be that one. */
  readonly name?: string;
  /** What its endpoint calls it; without a base URL also the name of an entry. */
  readonly model?: string;
  /** One of the endpoints that the worker is configured with. */
  readonly baseUrl?: string;
  /** Names of entries, in the order in which they are asked after it. */
  readonly fallbacks?: readonly string[];
}

/** The models that a run uses from its beginning to its end. */
export interface RunModels {
  /** The model, and those that are asked in its place, in this order. Empty where all agents have their own. */
  readonly chain: readonly ModelRef[];
  /** Of agents that have their own. */
  readonly agents?: readonly { readonly agentId: string; readonly chain: readonly ModelRef[] }[];
}

/** The models of an agent in a run, the first one first; empty in a run that has been given none. */
export function modelsOf(models: RunModels | undefined, agentId: string): readonly ModelRef[] {
  return models?.agents?.find((own) => own.agentId === agentId)?.chain ?? models?.chain ?? [];
}

/** A model for people: `fast (gpt-5-mini at api.openai.com)`. */
export function modelLabel({ name, model, endpoint = "" }: Partial<ModelRef> & AnsweredBy): string {
  const host = /^https?:\/\/([^/]*)/.exec(endpoint)?.[1] ?? "";
  const place = host === "" ? model : `${model} at ${host}`;
  return name === undefined ? place : `${name} (${place})`;
}

/** Failures of the model itself. Whatever else goes wrong would go wrong with another one, too. */
const OF_THE_MODEL = /^LLM_/;

/**
 * Which model is asked after the one at this place has failed for good, or as often as it may; undefined where none is, or where
 * the failure is not the model's.
 */
export function nextModel(chain: readonly ModelRef[], place: number, code: string): number | undefined {
  return OF_THE_MODEL.test(code) && place + 1 < chain.length ? place + 1 : undefined;
}

/** How often the model at this place is asked before its turn is over. */
export function attemptsAt(
  chain: readonly ModelRef[],
  place: number,
  limits: { readonly maxModelAttempts: number; readonly maxAttemptsBeforeFallback: number },
): number {
  const { maxModelAttempts, maxAttemptsBeforeFallback } = limits;
  const isLast = place + 1 >= chain.length;
  return isLast ? maxModelAttempts : Math.min(maxModelAttempts, maxAttemptsBeforeFallback);
}

const FIRST_PAUSE_MS = 200;

/** How long a turn, or an opening, waits before another worker is asked for: `refusals` have been so far, 1 or more. */
export function pauseAfter(refusals: number, longestMs: number): number {
  return Math.min(longestMs, FIRST_PAUSE_MS * 2 ** Math.min(refusals - 1, 20));
}

const refSchema = z.looseObject({
  name: z.string().exactOptional(),
  model: z.string(),
  endpoint: z.string(),
  keyed: z.literal(true).exactOptional(),
});
const chainSchema = z.array(refSchema);

/** What was kept of an answer's model, or carried along. */
export const answeredBySchema: z.ZodType<AnsweredBy> = z.looseObject({
  name: z.string().exactOptional(),
  model: z.string(),
});
/** What was kept of a run's models, or carried along. */
export const runModelsSchema: z.ZodType<RunModels> = z.looseObject({
  chain: chainSchema,
  agents: z.array(z.looseObject({ agentId: z.string(), chain: chainSchema })).exactOptional(),
});
