import type {
  ActivityInterceptorsFactory,
  InjectedSinks,
  WorkflowBundleWithSourceMap,
} from "@temporalio/worker";
import type { Sinks } from "@temporalio/workflow";
import type { WatchCall } from "../core/tools/watched-call.js";
import type { ChatModel } from "../model/chat.js";
import type { Store } from "../store/store.js";

/** Watches a worker from its edge: what the worker does is the same with it and without it. */
export interface Instrument {
  /** See each activity that the worker runs, the first one outermost. */
  readonly activities?: readonly ActivityInterceptorsFactory[];
  /** Sees each request to a model; what it returns answers as the model does. */
  readonly watchModel?: (model: ChatModel) => ChatModel;
  /** Sees each call of a tool: those of the engine's own, of MCP servers and in code. */
  readonly watchCall?: WatchCall;
  /** Sees the store while the worker runs, until what it returns is called. */
  readonly watchStore?: (store: Store) => () => void;
  /** What workflow code reports to, and the workflow code that does. Of several instruments, one may have it. */
  readonly workflows?: {
    readonly sinks: InjectedSinks<Sinks>;
    readonly bundle: () => Promise<WorkflowBundleWithSourceMap>;
  };
}

/** Calls of tools, seen by all instruments; undefined where none looks. */
export function watchedCalls(instruments: readonly Instrument[]): WatchCall | undefined {
  return instruments
    .flatMap(({ watchCall }) => watchCall ?? [])
    .reduceRight<WatchCall | undefined>(
      (inner, outer) => (inner === undefined ? outer : (call, make) => outer(call, () => inner(call, make))),
      undefined,
    );
}

/** The model, seen by all instruments. */
export function watched(model: ChatModel, instruments: readonly Instrument[]): ChatModel {
  return instruments.reduce((seen, { watchModel }) => watchModel?.(seen) ?? seen, model);
}
