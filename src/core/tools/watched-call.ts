/** A call of a tool that is made, for whoever watches a worker: which tool it is, and whose. Nothing that a model has made up. */
export interface WatchedCall {
  readonly tool: string;
  readonly callId: string;
  readonly runId: string;
  readonly nodeId: string;
  readonly agentId: string;
}

/** Has the call made, and sees what it comes to. */
export type WatchCall = <T>(call: WatchedCall, make: () => Promise<T>) => Promise<T>;
