/**
 * Notices a model that repeats the same failing call (contracts §9). Three times running earns one corrective
 * message; the fourth time the run waits for its user.
 */
export interface LoopState {
  /** Tool and arguments of the last call that failed, hashed; empty when the last call succeeded. */
  readonly key: string;
  readonly failures: number;
}

export const NO_LOOP: LoopState = { key: "", failures: 0 };
export type LoopVerdict = "go-on" | "correct" | "ask-user";

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

/** What the model is told when it repeats a failing call. */
export const LOOP_CORRECTION =
  "The same tool call has failed three times in a row. Do not repeat it. Read its error, then change the arguments, use another tool, or ask the user in plain text.";
