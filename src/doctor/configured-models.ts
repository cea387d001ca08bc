import type { Config } from "../config.js";
import { defined } from "../core/defined.js";
import { excerpt } from "../core/text.js";
import type { ModelSettings } from "../model/chat.js";
import { type Finding, failed, warning } from "./finding.js";

/** A model that agents use, and where its parts are configured. */
export interface ConfiguredModel {
  readonly settings: ModelSettings;
  /** Agents' ids; `default` stands for all others. */
  readonly usedBy: readonly string[];
  /** The variable that its key is expected in. */
  readonly keyVariable: string;
  /** A variable that names a proxy, which Node does not use as it was started. */
  readonly unusedProxy?: string;
}

/** Stands for all agents that have no model of their own. */
export const DEFAULT = "default";

/** The default model, those that have names, fallbacks among them, and those of agents: each once, and what is wrong before anybody is asked. */
export function configuredModels({ settings, models: catalog, variable }: Config): {
  readonly models: readonly ConfiguredModel[];
  readonly findings: readonly Finding[];
} {
  const models = new Map<string, ConfiguredModel>();
  const findings: Finding[] = [];
  const agents = Object.keys(settings.agents ?? {});
  const nobody = `no agent ${agents.map((id) => id.length).join()}`; // of no agent's id
  const places = [
    { place: DEFAULT, found: catalog.ofAgent(nobody), none: () => noDefault(catalog.defaultName) },
    ...catalog.names.map((name) => {
      const place = `models.${name}`;
      return { place, found: catalog.ofEntry(name), none: () => noModelOf(place) };
    }),
    ...agents.map((id) => ({ place: id, found: catalog.ofAgent(id), none: () => noModelOf(id) })),
  ];
  for (const { place, found, none } of places) {
    if (found === undefined) {
      findings.push(none());
      continue;
    }
    const { settings: reached, keyVariable, lacksKey } = found;
    if (lacksKey) findings.push(noKey(place, keyVariable));
    const key = JSON.stringify([reached, keyVariable]);
    const known = models.get(key)?.usedBy ?? [];
    const unusedProxy = proxyLeftOut(reached, variable);
    models.set(key, {
      settings: reached,
      usedBy: [...known, place],
      keyVariable,
      ...defined({ unusedProxy }),
    });
  }
  return { models: [...models.values()], findings };
}

const PROXIES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

function proxyLeftOut(
  { baseUrl = "https://" }: ModelSettings,
  variable: Config["variable"],
): string | undefined {
  const isHere = /^https?:\/\/(?:127\.|localhost\b|\[::1\])/i.test(baseUrl);
  if (isHere || variable("NODE_USE_ENV_PROXY") !== undefined) return undefined;
  return PROXIES.find((name) => variable(name) !== undefined);
}

function noDefault(name: string | undefined): Finding {
  const [found, remedy] =
    name === undefined
      ? ["none is configured", "Set INTERLOCK_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL (docs/models.md)."]
      : [`${excerpt(name)} has neither a base URL nor a key`, "Set OPENAI_API_KEY or OPENAI_BASE_URL."];
  return warning("model (default)", `${found}: runs need --rehearse, or agents' own models`, remedy);
}

function noModelOf(id: string): Finding {
  const place = id.startsWith("models.") ? id : `agents.${id}`;
  const remedy = `Give ${place} in settings.json a model, and a baseUrl or a key in its apiKeyVariable.`;
  return failed(`model (${id})`, "has settings, but no model, or neither a base URL nor a key", remedy);
}

function noKey(place: string, keyVariable: string): Finding {
  const found = `the variable of its key, ${keyVariable}, is not set: this machine's worker leaves its turns to others`;
  return failed(`model (${place})`, found, `Set ${keyVariable} where the worker runs.`);
}

/** Where the settings file says something of a model; of the default, what takes its place. */
export function settingOf(usedBy: readonly string[], field: "model" | "baseUrl" | "apiKeyVariable"): string {
  if (usedBy.includes(DEFAULT)) return field === "model" ? "INTERLOCK_MODEL" : "OPENAI_BASE_URL";
  const [place = ""] = usedBy;
  const entry = place.startsWith("models.") ? place : `agents.${place}`;
  return `${entry}.${field}`;
}
