import { counted } from "../text.js";

/** Tokens as the model's provider counted them, and how often it was asked. `cost` is in the currency of the prices. */
export interface Usage {
  readonly modelTurns: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  /** Those of the prompt tokens that the provider took from its cache; absent where it has said of none. */
  readonly cachedPromptTokens?: number | undefined;
  readonly completionTokens: number;
  readonly cost: number;
  /** Where a provider has counted nothing, tokens are estimated, and so is what they cost. */
  readonly estimated?: boolean | undefined;
}

/** What one answer of a model took. */
export type TurnUsage = Omit<Usage, "modelTurns" | "toolCalls">;

/** Adds up what was used. What neither says stays unsaid. */
export function addUsage(
  usage: Usage,
  used: { readonly [Part in keyof Usage]?: Usage[Part] | undefined },
): Usage {
  const cached = (usage.cachedPromptTokens ?? 0) + (used.cachedPromptTokens ?? 0);
  return {
    modelTurns: usage.modelTurns + (used.modelTurns ?? 0),
    toolCalls: usage.toolCalls + (used.toolCalls ?? 0),
    promptTokens: usage.promptTokens + (used.promptTokens ?? 0),
    ...(cached === 0 ? {} : { cachedPromptTokens: cached }),
    completionTokens: usage.completionTokens + (used.completionTokens ?? 0),
    cost: usage.cost + (used.cost ?? 0),
    ...(usage.estimated === true || used.estimated === true ? { estimated: true } : {}),
  };
}

/** The tokens of a report: `~120+30 tokens (64 cached)`; `~` where some are estimated. */
export function tokensInWords(usage: Usage): string {
  const { promptTokens, completionTokens, cachedPromptTokens = 0 } = usage;
  const cached = cachedPromptTokens === 0 ? "" : ` (${cachedPromptTokens} cached)`;
  return `${about(usage)}${promptTokens}+${completionTokens} tokens${cached}`;
}

/** How often the model and the tools were called, for people. */
export function workInWords({ modelTurns, toolCalls }: Usage): string {
  return `${counted(modelTurns, "model turn")}, ${counted(toolCalls, "tool call")}`;
}

/** What they cost, behind a comma: `, cost ~0.0120`; nothing where no price is known. */
export function costInWords(usage: Usage): string {
  return usage.cost > 0 ? `, cost ${about(usage)}${usage.cost.toFixed(4)}` : "";
}

/** What stands before numbers of which some are estimated. */
export function about({ estimated = false }: Usage): string {
  return estimated ? "~" : "";
}

export const NO_USAGE: Usage = {
  modelTurns: 0,
  toolCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  cost: 0,
};
