/** Tokens as the model's provider counted them, and how often it was asked. `cost` is in the currency of the prices. */
export interface Usage {
  readonly modelTurns: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cost: number;
}

/** What one answer of a model took. */
export type TurnUsage = Pick<Usage, "promptTokens" | "completionTokens" | "cost">;

export const NO_USAGE: Usage = {
  modelTurns: 0,
  toolCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  cost: 0,
};
