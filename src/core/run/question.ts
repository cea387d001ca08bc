/** What the run asks its user, and for which node. */
export interface Question {
  readonly nodeId: string;
  readonly text: string;
  /**
   * `ENGINE_LOOP_DETECTED` or `BUDGET_EXCEEDED` when the engine asks, not the model; `LLM_REFUSED` or
   * `LLM_CONTENT_FILTERED` when the model has refused; `LLM_BAD_RESPONSE` when its answers ask nothing.
   */
  readonly code?: string;
}

/** The id of the question that a run asks now: there is one in a turn at most. */
export function questionIn({ visit, turn }: { readonly visit: number; readonly turn: number }): string {
  return `${visit}.${turn}`;
}
