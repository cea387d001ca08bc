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
