import { pause } from "../temporal/abortable.js";
import { defined } from "../../core/defined.js";
import { nextPause } from "../../core/pace.js";
import { type Question, questionIn } from "../../core/run/question.js";
import type { RunState } from "../../core/run/run-state.js";
import { isOpenStatus } from "./execution-status.js";
import { isAway, isUnanswered } from "../temporal/grpc-status.js";
import { isOverPhase } from "../../core/run/phase.js";

/** A question that a run waits with. */
export interface RunQuestion extends Question {
  /** `<visit>.<turn>`: what `answer` takes as `question`, so that the answer goes to no other one. */
  readonly id: string;
}

/** What of a run is asked. */
interface Asked {
  state(): Promise<RunState>;
  executionStatus(): Promise<string>;
}

const PACE = { shortestMs: 100, longestMs: 2_000 };

/** The question in a run's state; undefined where it waits with none. */
export function questionOf(state: RunState): RunQuestion | undefined {
  const { question, phase } = state;
  if (question === undefined || phase !== "waiting-user") return undefined;
  const { nodeId, text, code } = question;
  return { nodeId, text, ...defined({ code }), id: questionIn(state) };
}

/**
 * Waits for a question that was not given before; `given` is those that were, and takes this one. Undefined when the run is over.
 * Rejects with the signal's reason.
 */
export async function nextQuestion(
  run: Asked,
  given: Set<string>,
  signal: AbortSignal | undefined,
): Promise<RunQuestion | undefined> {
  for (let pauseMs = PACE.shortestMs; ; pauseMs = nextPause(PACE, pauseMs, false)) {
    signal?.throwIfAborted();
    const state = await run.state().catch(async (error: unknown) => {
      // Where no worker answers, the run may be over all the same.
      if (!isUnanswered(error)) throw error;
      const status = await run.executionStatus().catch((thrown: unknown) => {
        if (!isAway(thrown)) throw thrown; // Temporal that is away is waited for
      });
      return status === undefined || isOpenStatus(status) ? undefined : ("over" as const);
    });
    if (state === "over" || (state && isOverPhase(state.phase))) return undefined;
    const question = state && questionOf(state);
    const key = JSON.stringify(question);
    if (question !== undefined && !given.has(key)) {
      given.add(key);
      return question;
    }
    await pause(pauseMs, signal);
  }
}
