/** A tool call as the model made it. In a run's conversation its id is unique in the run, in an answer it is the provider's. */
export interface ModelCall {
  readonly id: string;
  /** As the model spelled it. */
  readonly name: string;
  readonly argumentsJson: string;
}
