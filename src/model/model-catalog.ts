import { canonicalJson } from "../core/canonical-json.js";
import { MAX_MODELS_IN_CHAIN } from "../core/run/limits.js";
import { defined } from "../core/defined.js";
import type { ModelRef, RunModels, WantedModel } from "../core/run/run-model.js";
import type { ModelPrice, ModelSettings } from "./chat.js";
import { type DialectSetting, OPENAI_URL } from "./dialects.js";
import { type ModelEntry, type ModelOverride, expand } from "./model-entries.js";
import {
  type Missing,
  type ReachedModel,
  type Source,
  checked,
  isAsWanted,
  normalEndpoint,
  refOf,
  whatIsMissing,
  withId,
} from "./model-source.js";

/** All that the operator of a worker has said of models. */
export interface ModelConfiguration {
  /** An entry's name, or what the common endpoint calls it. */
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly dialect?: DialectSetting | undefined;
  /** Of the default model, where its entry says nothing. */
  readonly contextTokens?: number | undefined;
  readonly stream: boolean;
  readonly timeoutMs: number;
  readonly models: Readonly<Record<string, ModelEntry>>;
  readonly agents: Readonly<Record<string, ModelOverride>>;
  readonly prices: Readonly<Record<string, ModelPrice>>;
  /** What a variable of the environment holds, or now the file in its place; undefined where it is unset or empty. */
  readonly variable: (name: string) => string | undefined;
  /** Endpoints that are named where the worker is started, beside the settings: they get no key. */
  readonly moreEndpoints?: readonly string[];
}

/** Which models a worker has, and how it reaches them. Keys go to the endpoints alone that they were given for. */
export class ModelCatalog {
  private readonly configuration: ModelConfiguration;
  private readonly entries: ReadonlyMap<string, ModelEntry>;
  private readonly agents: ReadonlyMap<string, ModelOverride>;

  constructor(configuration: ModelConfiguration) {
    this.configuration = configuration;
    this.entries = new Map(Object.entries(configuration.models));
    this.agents = new Map(Object.entries(configuration.agents));
  }

  /** The same, with an endpoint more, that gets no key unless it is configured with one. */
  withEndpoint(baseUrl: string): ModelCatalog {
    const { moreEndpoints = [] } = this.configuration;
    return new ModelCatalog({ ...this.configuration, moreEndpoints: [...moreEndpoints, baseUrl] });
  }

  /** A base URL as a run may name it; undefined for what is none, or holds a login. */
  normal(baseUrl: string): string | undefined {
    return normalEndpoint(baseUrl);
  }

  /** Whether there is an entry of this name. */
  has(name: string): boolean {
    return this.entries.has(name);
  }

  /** What the default model is called where it is configured: a name of an entry, or an id. */
  get defaultName(): string | undefined {
    return this.configuration.model;
  }

  /** The names of all entries. */
  get names(): readonly string[] {
    return [...this.entries.keys()];
  }

  /** The worker's own model of an agent, where no run says anything of models; undefined where none is configured. */
  settingsFor(agentId: string): ModelSettings | undefined {
    return this.ofAgent(agentId)?.settings;
  }

  /** The same, and where its parts are configured. */
  ofAgent(agentId: string): ReachedModel | undefined {
    const own = this.agents.get(agentId);
    return own === undefined ? this.byDefault() : this.reach(this.overridden(own));
  }

  /** An entry, as it is reached; undefined where it has neither an endpoint nor a key. */
  ofEntry(name: string): ReachedModel | undefined {
    const entry = this.entries.get(name);
    return entry && this.reach(entry, name);
  }

  /**
   * What a run is to use from its beginning to its end, with these agents; or what this worker lacks for it. A run below another one uses
   * what that one does (`above`), and for other agents their own.
   */
  choose(
    wanted: WantedModel | undefined,
    agentIds: readonly string[],
    above?: RunModels,
  ): RunModels | Missing {
    const agents = [...new Set(agentIds)];
    const chain = above === undefined || above.chain.length === 0 ? this.chainOf(wanted) : above.chain;
    const first = "missing" in chain ? undefined : chain[0];
    const own: { agentId: string; chain: readonly ModelRef[] }[] = [];
    for (const agentId of agents) {
      const taken = above?.agents?.find((agent) => agent.agentId === agentId)?.chain;
      const found = taken ?? this.chainOfAgent(agentId, first);
      if (found === undefined) continue;
      if ("missing" in found) return found;
      own.push({ agentId, chain: found });
    }
    const needsCommon = wanted !== undefined || own.length < agents.length;
    if ("missing" in chain && needsCommon) return chain;
    return { chain: "missing" in chain ? [] : chain, ...(own.length === 0 ? {} : { agents: own }) };
  }

  /** How this worker asks a model of a run for an agent; or what it lacks. */
  reachRef(ref: ModelRef, agentId: string): ModelSettings | Missing {
    const own = this.agents.get(agentId);
    const isOwn = own !== undefined && hasOwnModel(own);
    const isSame = (source: Source) =>
      source.settings.model === ref.model && (ref.name === undefined || source.name === ref.name);
    const isUsable = ({ lacksKey, settings }: Source): boolean =>
      !lacksKey && (ref.keyed !== true || settings.apiKey !== undefined);
    const found: Source[] = [];
    for (const source of this.sources(isOwn ? agentId : undefined, ref.name)) {
      if (source.endpoint !== ref.endpoint) continue;
      found.push(source);
      if (isUsable(source) && isSame(source)) break; // other models' keys are nobody's business
    }
    const usable = found.filter(isUsable);
    const source = usable.find(isSame) ?? usable[0];
    if (source === undefined) return { missing: whatIsMissing(ref, found) };
    const price = this.priceOf(ref);
    const { temperature, maxTokens, parameters, contextTokens, price: _, ...connection } = source.settings;
    const manner = isSame(source) ? defined({ temperature, maxTokens, parameters, contextTokens }) : {};
    const settings = { ...connection, ...manner, model: ref.model, ...defined({ price }) };
    return own === undefined || isOwn ? settings : this.withManner(settings, own, ref);
  }

  /** Of a model by its entry's name, else by what its endpoint calls it. */
  priceOf({ name, model }: Pick<ModelRef, "name" | "model">): ModelPrice | undefined {
    const prices = new Map(Object.entries(this.configuration.prices));
    return (name === undefined ? undefined : prices.get(name)) ?? prices.get(model);
  }

  /** What an agent says beside its model is said of the run's, too; its key is for the common endpoint. */
  private withManner(settings: ModelSettings, own: ModelOverride, ref: ModelRef): ModelSettings {
    const { stream, temperature, maxTokens, parameters, timeoutSeconds } = own;
    const isCommon = ref.endpoint === this.common()?.endpoint;
    const isDefault = isCommon && ref.model === this.defaultId();
    const key =
      own.apiKeyVariable === undefined ? undefined : this.configuration.variable(own.apiKeyVariable);
    return {
      ...settings,
      ...defined({ stream, temperature, maxTokens, parameters }),
      ...(timeoutSeconds === undefined ? {} : { timeoutMs: timeoutSeconds * 1_000 }),
      ...(isCommon
        ? defined({ dialect: own.dialect ?? settings.dialect, apiKey: key ?? settings.apiKey })
        : {}),
      ...(isDefault ? defined({ contextTokens: own.contextTokens ?? settings.contextTokens }) : {}),
    };
  }

  private chainOf(wanted: WantedModel = {}): readonly ModelRef[] | Missing {
    const first = this.firstOf(wanted);
    if ("missing" in first) return first;
    const own = first.name === undefined ? [] : (this.entries.get(first.name)?.fallbacks ?? []);
    return this.chainFrom(refOf(first), wanted.fallbacks ?? own);
  }

  private firstOf({ name, model, baseUrl }: WantedModel): Source | Missing {
    const isPlain = name === undefined && baseUrl === undefined;
    const entryName = name ?? (isPlain ? (model ?? this.configuration.model) : undefined);
    const entry = entryName === undefined ? undefined : this.source(entryName);
    if (entry !== undefined) {
      if (!isAsWanted(entry, { model: name === undefined ? undefined : model, baseUrl })) {
        return { missing: `its entry "${entryName}" of models is another model. ${SAME_SETTINGS}` };
      }
      return checked(entry);
    }
    if (entryName !== undefined && this.has(entryName)) {
      return {
        missing: `its entry "${entryName}" of models has neither an endpoint nor a key. Set OPENAI_BASE_URL or OPENAI_API_KEY, or give it a baseUrl`,
      };
    }
    if (name !== undefined)
      return { missing: `it has no model "${name}". Add it to models in its settings file` };
    const id = model ?? this.defaultId();
    if (id === undefined) return { missing: NO_MODEL_CONFIGURED };
    if (baseUrl === undefined) {
      const common = this.common();
      return common === undefined ? { missing: NO_MODEL_CONFIGURED } : withId(common, id);
    }
    const endpoint = normalEndpoint(baseUrl) ?? "";
    const sources = [...this.sources(undefined, undefined)].filter((source) => source.endpoint === endpoint);
    const found = sources.find(({ settings }) => settings.model === id) ?? sources[0];
    if (found === undefined) return { missing: whatIsMissing({ model: id, endpoint }, []) };
    return checked(withId(found, id));
  }

  private chainOfAgent(
    agentId: string,
    ofRun: ModelRef | undefined,
  ): readonly ModelRef[] | Missing | undefined {
    const own = this.agents.get(agentId);
    if (own === undefined) return undefined;
    if (!hasOwnModel(own)) {
      return own.fallbacks === undefined || ofRun === undefined
        ? undefined
        : this.chainFrom(ofRun, own.fallbacks);
    }
    const source = this.agentSource(agentId);
    if (source === undefined) {
      return {
        missing: `the model of the agent ${agentId} has neither an endpoint nor a key. Complete agents.${agentId} in its settings file`,
      };
    }
    const found = checked(source);
    return "missing" in found ? found : this.chainFrom(refOf(found), this.overridden(own).fallbacks ?? []);
  }

  private chainFrom(first: ModelRef, fallbacks: readonly string[]): readonly ModelRef[] | Missing {
    const chain: ModelRef[] = [first];
    for (const name of expand(fallbacks, this.entries)) {
      if (!this.has(name))
        return {
          missing: `it has no model "${name}" to fall back to. Add it to models in its settings file`,
        };
      const source = this.source(name);
      if (source === undefined)
        return { missing: `its entry "${name}" of models has neither an endpoint nor a key` };
      // One without its key is left out by nobody: its turn is left to a worker that has it.
      const ref = { ...refOf(source), ...(source.lacksKey ? { keyed: true as const } : {}) };
      if (!chain.some((known) => this.isAskedAlike(known, ref))) chain.push(ref);
    }
    if (chain.length <= MAX_MODELS_IN_CHAIN) return chain;
    return {
      missing: `${chain.length} models would follow one another; at most ${MAX_MODELS_IN_CHAIN} may. Name fewer fallbacks`,
    };
  }

  /** One model at one endpoint may be asked in several ways, such as at once or when there is room, or of several providers. */
  private isAskedAlike(one: ModelRef, other: ModelRef): boolean {
    const [way, another] = [one, other].map((ref) => this.wayOf(ref));
    return one.model === other.model && one.endpoint === other.endpoint && way === another;
  }

  private wayOf({ name = "" }: ModelRef): string {
    const { parameters = {}, baseUrl, dialect }: ModelOverride = this.entries.get(name) ?? {};
    const said = dialect ?? (baseUrl === undefined ? this.configuration.dialect : undefined);
    return canonicalJson([parameters, (typeof said === "object" ? said.headers : undefined) ?? {}]);
  }

  /** All places that name an endpoint, those first that were meant; a key is read where its place is come to. */
  private *sources(agentId: string | undefined, name: string | undefined): Generator<Source> {
    const { moreEndpoints = [] } = this.configuration;
    const places: readonly (() => Source | undefined)[] = [
      () => (agentId === undefined ? undefined : this.agentSource(agentId)),
      () => (name === undefined ? undefined : this.source(name)),
      () => this.common(),
      ...this.names.map((other) => () => this.source(other)),
      ...[...this.agents.keys()].map((id) => () => this.agentSource(id)),
      ...moreEndpoints.map(
        (baseUrl) => () => this.toSource(this.reach({ model: this.defaultId() ?? "", baseUrl })),
      ),
    ];
    for (const place of places) {
      const source = place();
      if (source !== undefined) yield source;
    }
  }

  /** The model that an agent has of its own, by the name of its entry where it is one. */
  private agentSource(agentId: string): Source | undefined {
    const own = this.agents.get(agentId);
    if (own === undefined || !hasOwnModel(own)) return undefined;
    const name = own.baseUrl === undefined && this.has(own.model ?? "") ? own.model : undefined;
    return this.toSource(this.reach(this.overridden(own), name), name);
  }

  private source(name: string): Source | undefined {
    return this.toSource(this.ofEntry(name), name);
  }

  /** The common endpoint, whatever its model is. */
  private common(): Source | undefined {
    return this.toSource(this.reach({ model: this.defaultId() ?? "" }));
  }

  private byDefault(): ReachedModel | undefined {
    const { model } = this.configuration;
    if (model === undefined) return undefined;
    return this.ofEntry(model) ?? (this.has(model) ? undefined : this.reach({ model }));
  }

  /** What the default model is called at its endpoint. */
  private defaultId(): string | undefined {
    const { model } = this.configuration;
    return model === undefined ? undefined : (this.entries.get(model)?.model ?? model);
  }

  /** What an agent says, over the entry that it names, or else over the default. */
  private overridden(own: ModelOverride): ModelOverride {
    const named =
      own.baseUrl === undefined ? this.entries.get(own.model ?? this.configuration.model ?? "") : undefined;
    if (named === undefined) return { ...own, model: own.model ?? this.defaultId() };
    return { ...named, ...defined(own), model: named.model };
  }

  private reach(entry: ModelOverride, name?: string): ReachedModel | undefined {
    const { configuration } = this;
    const { model, apiKeyVariable } = entry;
    const isCommon = entry.baseUrl === undefined;
    const baseUrl = entry.baseUrl ?? configuration.baseUrl;
    const ownKey = apiKeyVariable === undefined ? undefined : configuration.variable(apiKeyVariable);
    // A key goes only to the endpoint it was given for: an endpoint of its own gets a key of its own or none.
    const apiKey = ownKey ?? (isCommon ? configuration.variable(COMMON_KEY) : undefined);
    if (model === undefined || (baseUrl === undefined && apiKey === undefined)) return undefined;
    // Like a key, a dialect belongs to the endpoint that it was given for.
    const dialect = entry.dialect ?? (isCommon ? configuration.dialect : undefined);
    const isDefault = isCommon && model === this.defaultId();
    const contextTokens = entry.contextTokens ?? (isDefault ? configuration.contextTokens : undefined);
    const price = this.priceOf({ model, ...defined({ name }) });
    const { temperature, maxTokens, parameters, timeoutSeconds } = entry;
    return {
      settings: {
        model,
        ...defined({ price, baseUrl, apiKey }),
        stream: entry.stream ?? configuration.stream,
        timeoutMs: timeoutSeconds === undefined ? configuration.timeoutMs : timeoutSeconds * 1_000,
        ...defined({ temperature, maxTokens, parameters, contextTokens, dialect }),
      },
      keyVariable: apiKeyVariable ?? (isCommon ? COMMON_KEY : ""),
      lacksKey: apiKeyVariable !== undefined && apiKey === undefined,
    };
  }

  private toSource(reached: ReachedModel | undefined, name?: string): Source | undefined {
    const endpoint = reached && normalEndpoint(reached.settings.baseUrl ?? OPENAI_URL);
    return reached === undefined || endpoint === undefined
      ? undefined
      : { ...reached, endpoint, ...defined({ name }) };
  }
}

/** The variable with the key of the common endpoint. */
const COMMON_KEY = "OPENAI_API_KEY";
const NO_MODEL_CONFIGURED =
  "no model is configured. Set OPENAI_API_KEY or OPENAI_BASE_URL, and INTERLOCK_MODEL";
const SAME_SETTINGS = "Give the workers of a queue the same settings, or name another one";

function hasOwnModel({ model, baseUrl }: ModelOverride): boolean {
  return model !== undefined || baseUrl !== undefined;
}
