import { defined } from "../core/defined.js";
import { type ModelRef, modelLabel } from "../core/run/run-model.js";
import type { ModelSettings } from "./chat.js";

/** The worker cannot ask a model: what it lacks, in a clause such as `it has no endpoint at api.example.com: …`. */
export interface Missing {
  readonly missing: string;
}

/** A model as it is reached, and where that is said. */
export interface ReachedModel {
  readonly settings: ModelSettings;
  readonly keyVariable: string;
  /** The variable is named for its key, and is unset. */
  readonly lacksKey: boolean;
}

/** A base URL as endpoints are compared and shown: in its normal spelling, without its query, which may hold a key. */
export function normalEndpoint(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  const { origin, pathname, protocol, username, password } = new URL(baseUrl);
  if (!/^https?:$/.test(protocol) || username !== "" || password !== "") return undefined;
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

/** One place where the configuration says how a model is reached. */
export interface Source extends ReachedModel {
  readonly name?: string;
  readonly endpoint: string;
}

export function isAsWanted({ settings, endpoint }: Source, { model, baseUrl }: WantedRest): boolean {
  const isModel = model === undefined || settings.model === model;
  return isModel && (baseUrl === undefined || normalEndpoint(baseUrl) === endpoint);
}

interface WantedRest {
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
}

/** Another model at the same endpoint; what was said of the one that stands there is not said of it. */
export function withId({ name, settings, ...rest }: Source, model: string): Source {
  if (settings.model === model) return { ...rest, settings, ...defined({ name }) };
  const {
    temperature: _,
    maxTokens: _maxTokens,
    parameters: _parameters,
    contextTokens: _length,
    price: _price,
    ...connection
  } = settings;
  return { ...rest, settings: { ...connection, model } };
}

export function checked(source: Source): Source | Missing {
  return source.lacksKey ? { missing: whatIsMissing(refOf(source), [source]) } : source;
}

export function refOf({ name, settings, endpoint }: Source): ModelRef {
  const keyed = settings.apiKey === undefined ? undefined : (true as const);
  return { ...defined({ name }), model: settings.model, endpoint, ...defined({ keyed }) };
}

/** What is missing to ask a model: its endpoint, or the key of one of the places that name it. */
export function whatIsMissing(ref: ModelRef, sources: readonly Source[]): string {
  const label = modelLabel(ref);
  if (sources.length === 0) {
    return `it has no endpoint for the model ${label}. Add it to models in its settings file, or set OPENAI_BASE_URL`;
  }
  const variable = sources.map(({ keyVariable }) => keyVariable).find((name) => name !== "");
  const how =
    variable === undefined ? "Name its variable as apiKeyVariable in its settings file" : `Set ${variable}`;
  return `it has no key for the model ${label}. ${how}`;
}
