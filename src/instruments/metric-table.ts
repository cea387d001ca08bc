/**
 * The metrics of ours, and all that their labels may say. `docs/metrics.md` has them for users; a test holds both together.
 * The SDK's exporter counts in whole numbers: what has fractions is a histogram or a gauge.
 */
export const METRICS = {
  turns: {
    name: "interlock_model_turns_total",
    kind: "counter",
    labels: ["model"],
    help: "Turns of models that were written down",
  },
  tokens: {
    name: "interlock_model_tokens_total",
    kind: "counter",
    labels: ["model", "type"],
    help: "Tokens of those turns",
  },
  cost: {
    name: "interlock_model_turn_cost",
    kind: "histogram",
    labels: ["model"],
    help: "What a turn cost, in the currency of the configured prices",
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3],
  },
  requests: {
    name: "interlock_model_requests_total",
    kind: "counter",
    labels: ["model", "outcome"],
    help: "Requests to models, answered or not",
  },
  latency: {
    name: "interlock_model_request_seconds",
    kind: "histogram",
    labels: ["model"],
    help: "How long models took to answer, whole answers",
    buckets: [0.1, 0.3, 1, 3, 10, 30, 100, 300],
  },
  calls: {
    name: "interlock_tool_calls_total",
    kind: "counter",
    labels: ["tool", "outcome"],
    help: "Tool calls and what came of them",
  },
  guardRefusals: {
    name: "interlock_guard_refusals_total",
    kind: "counter",
    labels: [],
    help: "Moves that the transition guard refused",
  },
  ends: {
    name: "interlock_run_ends_total",
    kind: "counter",
    labels: ["outcome"],
    help: "Ends of runs, by why",
  },
  runs: {
    name: "interlock_runs",
    kind: "gauge",
    labels: ["phase"],
    help: "Runs in the store",
  },
  oldestQuestion: {
    name: "interlock_oldest_question_seconds",
    kind: "gauge",
    labels: [],
    help: "How long the question that is open longest has been open",
  },
  recoveries: {
    name: "interlock_recoveries_total",
    kind: "counter",
    labels: ["activity"],
    help: "Work of runs that was taken up again after an attempt failed or its worker died",
  },
  storeBytes: {
    name: "interlock_store_bytes",
    kind: "gauge",
    labels: [],
    help: "What the store's files hold",
  },
  storeFree: {
    name: "interlock_store_free_bytes",
    kind: "gauge",
    labels: [],
    help: "What is free where the store lies",
  },
  takeovers: {
    name: "interlock_lock_takeovers_total",
    kind: "counter",
    labels: [],
    help: "Locks that were taken over from a process that did not let go",
  },
  eventLoop: {
    name: "interlock_event_loop_delay_seconds",
    kind: "gauge",
    labels: ["stat"],
    help: "By how much timers of the worker were late since the last measurement",
  },
} as const satisfies Record<string, MetricDefinition>;

export interface MetricDefinition {
  readonly name: string;
  readonly kind: "counter" | "histogram" | "gauge";
  readonly labels: readonly string[];
  readonly help: string;
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

export type MetricKey = keyof typeof METRICS;

/** The buckets of the histograms, as the SDK's exporter takes them. */
export function histogramBuckets(): Record<string, number[]> {
  const definitions: readonly MetricDefinition[] = Object.values(METRICS);
  return Object.fromEntries(
    definitions.flatMap(({ name, buckets }) => (buckets === undefined ? [] : [[name, [...buckets]]])),
  );
}
