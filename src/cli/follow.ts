import { setTimeout as sleep } from "node:timers/promises";
import { InterlockError, type RunHandle } from "../client.js";
import type { ProgressLine, Question, RunState } from "../contract/run.js";

/** What following a run shows, and how it asks. */
export interface RunView {
  show(state: RunState, news: readonly ProgressLine[]): void;
  /** The user's answer; undefined where there will be none. */
  ask(question: Question): Promise<string | undefined>;
  close(): void;
}

/** How following ended: the run did, or it waits for somebody else. */
export type FollowEnd = { readonly state: RunState; readonly waiting: boolean };

const POLL_MS = 200;

/** Follows a run to its end, or to a question that stays unanswered. Shows every step on the way. */
export async function followRun(run: RunHandle, view: RunView, signal: AbortSignal): Promise<FollowEnd> {
  let seen = 0;
  try {
    for (;;) {
      signal.throwIfAborted();
      const state = await run.state();
      view.show(
        state,
        state.progress.filter((line) => line.seq > seen),
      );
      seen = state.progress.at(-1)?.seq ?? seen;
      if (state.phase === "completed" || state.phase === "failed") {
        await settled(run);
        return { state: await run.state(), waiting: false };
      }
      if (state.phase === "waiting-user" && state.question !== undefined) {
        if (!(await answer(run, view, state.question))) return { state, waiting: true };
      }
      await sleep(POLL_MS, undefined, { signal });
    }
  } finally {
    view.close();
  }
}

/** The phase is set a moment before the workflow closes: wait for that, so that nothing is cut short. */
async function settled(run: RunHandle): Promise<void> {
  await run.result().catch((error: unknown) => {
    if (!(error instanceof InterlockError)) throw error;
  });
}

async function answer(run: RunHandle, view: RunView, question: Question): Promise<boolean> {
  if (question.code === "BUDGET_EXCEEDED") return false; // a decision, not a text: the report says how
  const text = await view.ask(question);
  if (text === undefined) return false;
  try {
    await run.answer({ nodeId: question.nodeId, text });
  } catch (error) {
    // Somebody else was faster, or the text was refused: the next look at the state says which.
    if (!(error instanceof InterlockError)) throw error;
  }
  return true;
}
