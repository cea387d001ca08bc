/** The names that users, Temporal and other processes see (contracts §14). Frozen: changing one breaks runs. */

export const GRAPH_RUN_WORKFLOW = "graphRun";
/** Asks a store, where the server knows no activities without a workflow. */
export const STORE_READ_WORKFLOW = "storeRead";
export const RUN_STATE_QUERY = "runState";
export const GRAPH_STATE_QUERY = "graphState";
export const BUNDLE_RUN_WORKFLOW = "bundleRun";
export const ANSWER_UPDATE = "answer";
export const PAUSE_UPDATE = "pause";
export const RESUME_UPDATE = "resume";
export const BUDGET_UPDATE = "budget";
export const FINISH_UPDATE = "finish";

/** The types of the workflows that are runs. */
export type RunWorkflow = typeof GRAPH_RUN_WORKFLOW | typeof BUNDLE_RUN_WORKFLOW;

export function workflowOfKind(kind: "graph" | "bundle"): RunWorkflow {
  return kind === "graph" ? GRAPH_RUN_WORKFLOW : BUNDLE_RUN_WORKFLOW;
}

/** After this long the workflow task of a worker that has died is given to another one, of every workflow of ours. */
export const WORKFLOW_TASK_TIMEOUT = "5 seconds";

/** The task queue of a store that names none. */
export const DEFAULT_TASK_QUEUE = "interlock";

/** Search attributes a run sets, all of type Keyword. */
export const SEARCH_ATTRIBUTES = {
  RunPhase: "Keyword",
  RunNode: "Keyword",
  RunWorkflow: "Keyword",
  RunPackage: "Keyword",
  RunAgent: "Keyword",
  RunProject: "Keyword",
} as const;

/** What a keyword may have, in bytes: Temporal on PostgreSQL or MySQL takes no more, and ends a run that sets more. */
export const MAX_KEYWORD_BYTES = 255;

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const KEYWORD_TYPE = 2;

/** Those of {@link SEARCH_ATTRIBUTES} that a namespace has as keywords. `custom` is what Temporal lists: a type for each name. */
export function registeredAttributes(custom: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(SEARCH_ATTRIBUTES).filter((name) => Number(custom[name]) === KEYWORD_TYPE);
}

/** What a model turn may take beside the model's answer. */
export const MODEL_TURN_MARGIN_MS = 60_000;

/** Failure types beyond the error codes of contracts §15. */
export const WRONG_STORE_FAILURE = "WrongStore";
/** The worker has not the run's model, its endpoint or its key: the workflow asks for another worker. */
export const MODEL_MISSING_FAILURE = "ModelMissing";
/** The worker sent no key, and the endpoint wants one: after a few other workers it is the model's failure. */
export const KEY_MISSING_FAILURE = "KeyMissing";

/** No payload of a history exceeds this (contracts §14). */
export const MAX_PAYLOAD_BYTES = 256 * 1024;
