/**
 * Notices a model that repeats the same failing call (contracts §9). Three times running earns one corrective
 * message; the fourth time the run waits for its user. In a bundle run a call that works is noticed too: the fifth time, and the eighth.
 */
export interface LoopState {
  /** Tool and arguments of the last call that failed, hashed; empty when the last call succeeded. */
  readonly key: string;
  readonly failures: number;
  /** The last call where it has worked, and how often it was made in a row; absent where nobody counts that. */
  readonly repeated?: Repeated;
}

export interface Repeated {
  readonly key: string;
  readonly times: number;
}

export const NO_LOOP: LoopState = { key: "", failures: 0 };
export type LoopVerdict = "go-on" | "correct" | "ask-user" | "correct-repeated" | "ask-of-repeated";

/** Stands for an answer that says the run is done while something is missing. */
export const ENDING_KEY = "ending";

const FAILURES_BEFORE_CORRECTION = 3;

/** The state after one more call, and what is to be done about it. */
export function observeCall(
  state: LoopState,
  call: { readonly key: string; readonly ok: boolean },
): { readonly state: LoopState; readonly verdict: LoopVerdict } {
  if (call.ok) return { state: NO_LOOP, verdict: "go-on" };
  const failures = call.key === state.key ? state.failures + 1 : 1;
  const next = { key: call.key, failures };
  if (failures > FAILURES_BEFORE_CORRECTION) return { state: next, verdict: "ask-user" };
  return { state: next, verdict: failures === FAILURES_BEFORE_CORRECTION ? "correct" : "go-on" };
}

const TIMES_BEFORE_CORRECTION = 5;
const TIMES_BEFORE_QUESTION = 8;

/** One more call that has worked, and what is to be done about it: made again and again, with nothing else between, it brings nothing new. */
export function observeRepeated(
  before: Repeated | undefined,
  key: string,
): { readonly repeated: Repeated; readonly verdict: LoopVerdict } {
  const times = before?.key === key ? before.times + 1 : 1;
  const repeated = { key, times };
  if (times >= TIMES_BEFORE_QUESTION) return { repeated, verdict: "ask-of-repeated" };
  return { repeated, verdict: times === TIMES_BEFORE_CORRECTION ? "correct-repeated" : "go-on" };
}

/** What the model is told when it repeats a call that works. */
export const REPEATED_CORRECTION =
  "You have made the same tool call five times in a row and nothing else. It has worked: its result is above. Go on with the next step, or ask the user in plain text.";

/** What the model is told when it repeats a failing call. */
export const LOOP_CORRECTION =
  "The same tool call has failed three times in a row. Do not repeat it. Read its error, then change the arguments, use another tool, or ask the user in plain text.";
