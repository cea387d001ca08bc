import { unlessAborted } from "../../client/temporal/abortable.js";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Once, onceFor } from "../../client/temporal/away.js";
import { InterlockError, type RunHandle } from "../../client/client.js";
import { runsBelow } from "../../client/runs-below.js";
import { type StandingBelow, askingBelow } from "../../client/standing-below.js";
import { defined } from "../../core/defined.js";
import { nextPause } from "../../core/pace.js";
import { type Question, asksForBudget, questionIn } from "../../core/run/question.js";
import type { ProgressLine, RunBelowState, RunState } from "../../core/run/run-state.js";
import { answeredBy } from "../terminal/answer-text.js";
import { stateOf } from "./asked-state.js";
import { printNote } from "../terminal/output.js";
import { type AskedBelow, askedBelow } from "../report/run-report.js";
import type { Standing } from "../report/waiting-words.js";
import { type Said, type WorkSource, watchWork } from "./watch-work.js";
import { isOverPhase } from "../../core/run/phase.js";

/** What following a run shows, and how it asks. */
export interface RunView {
  show(state: RunState, news: readonly ProgressLine[]): void;
  /** What the run waits for at this moment. */
  wait(standing: Standing): void;
  /** The user's answer; undefined where there will be none. `below`: the run that asks, where it is one below the one that is followed. */
  ask(question: Question, below?: RunBelowState): Promise<string | undefined>;
  close(): void;
}

/** How following ended: the run did, or it waits for somebody else. */
export interface FollowEnd {
  readonly state: RunState;
  readonly waiting: boolean;
  /** What a run below waits with. */
  readonly asks?: AskedBelow;
}

const PACE = { shortestMs: 200, longestMs: 2_000 };

export interface FollowOptions {
  /** The last step that has been seen before. */
  readonly since?: number | undefined;
  /** Where it is seen what the run waits for. */
  readonly source?: WorkSource;
  /** Whether Temporal is the embedded server: any other one that is away is waited for. */
  readonly embedded?: boolean;
}

/**
 * Follows a run to its end, or to a question of its own or of a run below it that stays unanswered. Shows every step after `since` on the way, and what it waits
 * for as `source` tells it.
 */
export async function followRun(
  run: RunHandle,
  view: RunView,
  signal: AbortSignal,
  { since = 0, source, embedded = true }: FollowOptions = {},
): Promise<FollowEnd> {
  let seen = since;
  const lower = new LowerRuns();
  let said: Said = { turn: "" };
  let pauseMs = PACE.shortestMs;
  // However the run ends: by itself, or because Temporal closes it while somebody is asked.
  const watch = new AbortController();
  const stop = AbortSignal.any([signal, watch.signal]);
  const once = onceFor({ embedded }, stop);
  const asked = <T>(ask: () => Promise<T>): Promise<T> =>
    unlessAborted(signal, once(ask), () => Promise.resolve());
  const ended = once(() => run.resultUnlessAway({ signal: watch.signal })).then(
    () => undefined,
    () => undefined,
  );
  const show = (standing: Standing): void => view.wait(standing);
  const watching = source && watchWork(run, source, () => said, show, stop);
  try {
    for (;;) {
      signal.throwIfAborted();
      const askedAt = performance.now();
      const state = await asked(() => stateOf(run));
      said = { ...said, askedAt };
      if (state === undefined) continue; // nobody works on it: who watches is told so
      said = { turn: turnOf(state), askedAt, ...defined({ missing: state.model?.missing }) };
      const last = state.progress.at(-1)?.seq ?? seen;
      const below = await asked(() => runsBelow(run, state));
      const { ended: before, standing: after } = await lower.newsOf(below);
      // The run above has gone on only when the one below it had ended.
      const news = [...before, ...state.progress.filter((line) => line.seq > seen), ...after];
      pauseMs = nextPause(PACE, pauseMs, news.length > 0);
      view.show(state, news);
      seen = last;
      if (isOverPhase(state.phase)) {
        await asked(() => settled(run));
        return { state: (await asked(() => stateOf(run))) ?? state, waiting: false };
      }
      const asking = state.phase === "waiting-user" ? { run, state } : askingBelow(below);
      if (asking?.state.question !== undefined) {
        const isAnswered = await unlessAborted(
          signal,
          Promise.race([answer(asking, view, once), ended]),
          () => Promise.resolve(),
        );
        if (isAnswered === false) return { state, waiting: true, ...defined({ asks: askedBelow(below) }) };
        pauseMs = PACE.shortestMs;
      }
      await Promise.race([sleep(pauseMs, undefined, { signal }), ended]);
    }
  } finally {
    // A wait that outlives its connection is tried again on one that is closed, and that ends the process.
    watch.abort();
    await ended;
    await watching;
    view.close();
  }
}

/** As Temporal's timeline names it. */
function turnOf({ turn, currentNodeId }: RunState): string {
  return turn === 0 ? "" : `model turn ${turn} · ${currentNodeId}`;
}

/** The phase is set a moment before the workflow closes: wait for that, so that nothing is cut short. */
async function settled(run: RunHandle): Promise<void> {
  await run.resultUnlessAway().catch((error: unknown) => {
    if (!(error instanceof InterlockError)) throw error;
  });
}

/** A run that asks: the one that is followed, or one below it. */
interface Asking {
  readonly run: RunHandle;
  readonly state: RunState;
  readonly workflowRef?: string;
}

/** Bound to the question that was shown. */
async function answer({ run, state, workflowRef }: Asking, view: RunView, once: Once): Promise<boolean> {
  const { question } = state;
  if (question === undefined) return true;
  if (asksForBudget(question)) return false; // a decision, not a text: the report says how
  const below = workflowRef === undefined ? undefined : { runId: state.runId, workflowRef };
  const text = await view.ask(question, below);
  if (text === undefined) return false;
  try {
    const by = answeredBy(undefined);
    const told = { nodeId: question.nodeId, text, question: questionIn(state), by, answerId: randomUUID() };
    await once(() => run.answer(told)); // with an id of its own it is taken once, however often it is sent
  } catch (error) {
    // Somebody else was faster, or the text was refused: the next look at the state says which.
    if (!(error instanceof InterlockError)) throw error;
    printNote(`The answer was not taken: ${error.message}`);
  }
  return true;
}

/** What happens in the runs below one that is followed, each line once, under the name of its workflow. */
class LowerRuns {
  private readonly followed = new Map<string, { readonly below: StandingBelow<RunHandle>; seen: number }>();

  async newsOf(
    below: readonly StandingBelow<RunHandle>[],
  ): Promise<Readonly<Record<"ended" | "standing", readonly ProgressLine[]>>> {
    const standing = new Set(below.map(({ runId }) => runId));
    // The lowest one has ended first.
    const gone = [...this.followed.values()].filter((each) => !standing.has(each.below.runId)).toReversed();
    const last = await Promise.all(
      gone.map(async (each) => {
        this.followed.delete(each.below.runId);
        const state = await each.below.run.state().catch(() => each.below.state);
        return linesAfter(each.seen, each.below, state);
      }),
    );
    const now = below.map((each) => {
      const seen = this.followed.get(each.runId)?.seen ?? 0;
      this.followed.set(each.runId, { below: each, seen: each.state.progress.at(-1)?.seq ?? seen });
      return linesAfter(seen, each, each.state);
    });
    return { ended: last.flat(), standing: now.flat() };
  }
}

function linesAfter(
  seen: number,
  { workflowRef }: StandingBelow<unknown>,
  { progress }: RunState,
): ProgressLine[] {
  const news = progress.filter(({ seq }) => seq > seen);
  return news.map((line) => ({ ...line, nodeId: `${workflowRef}/${line.nodeId}` }));
}
