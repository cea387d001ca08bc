import type {
  ActivityInterceptorsFactory,
  InjectedSinks,
  WorkflowBundleWithSourceMap,
} from "@temporalio/worker";
import type { Sinks } from "@temporalio/workflow";
import type { ChatModel } from "../model/chat.js";
import type { Store } from "../store/store.js";

/** Watches a worker from its edge: what the worker does is the same with it and without it. */
export interface Instrument {
  /** See each activity that the worker runs, the first one outermost. */
  readonly activities?: readonly ActivityInterceptorsFactory[];
  /** Sees each request to a model; what it returns answers as the model does. */
  readonly watchModel?: (model: ChatModel) => ChatModel;
  /** Sees the store while the worker runs, until what it returns is called. */
  readonly watchStore?: (store: Store) => () => void;
  /** What workflow code reports to, and the workflow code that does. Of several instruments, one may have it. */
  readonly workflows?: {
    readonly sinks: InjectedSinks<Sinks>;
    readonly bundle: () => Promise<WorkflowBundleWithSourceMap>;
  };
}

/** The model, seen by all instruments. */
export function watched(model: ChatModel, instruments: readonly Instrument[]): ChatModel {
  return instruments.reduce((seen, { watchModel }) => watchModel?.(seen) ?? seen, model);
}
