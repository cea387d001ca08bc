import { setTimeout as sleep } from "node:timers/promises";
import { isAway } from "../../client/temporal/grpc-status.js";
import type { RunHandle } from "../../client/client.js";
import type { PendingActivity } from "../../client/runs/pending-work.js";
import { defined } from "../../core/defined.js";
import { nextPause } from "../../core/pace.js";
import type { LiveAnswer } from "../../store/runs/live-answer.js";
import { MODEL_TURN, type Standing, type WatchedAnswer } from "../report/waiting-words.js";
import { waitsForWorker } from "../session/work-words.js";

/** Where somebody who follows a run sees what it waits for. */
export interface WorkSource {
  /** What comes of an answer; `isAnswering`: Temporal says that a model is at work. */
  readonly live: (since: LiveAnswer | undefined, isAnswering: boolean) => Promise<LiveAnswer | undefined>;
  /** What to do about work that no worker takes. */
  readonly nobody: () => Promise<string>;
  /** What the run itself says that it waits for while nothing of its own is under way, where nobody else asks it. Costs a worker each time. */
  readonly still?: (signal: AbortSignal) => Promise<Pick<Standing, "missing" | "asked">>;
}

/** While the same activity is under way, there is little to be seen. */
const DESCRIBE_PACE = { shortestMs: 1_000, longestMs: 5_000 };
const LIVE_PAUSE_MS = 200;
const LATE_MS = 1_000;
const LATE = Symbol("late");
const PATIENCE_MS = 5_000;

/** What the run itself said last, and when it was asked (by `performance.now()`): what Temporal has told before that is older. */
export interface Said extends Pick<Standing, "turn" | "missing"> {
  readonly askedAt?: number;
}

/** Shows what a run waits for, again and again, until the signal. What cannot be asked for is not shown: others will say why. */
export async function watchWork(
  run: RunHandle,
  source: WorkSource,
  said: () => Said,
  show: (standing: Standing) => void,
  signal: AbortSignal,
): Promise<void> {
  let describeAt = 0;
  let pauseMs = 0;
  let seen = { turn: "", work: "" };
  let begun = { turn: "", at: 0 };
  let known: Known = { work: { activities: [] } };
  let temporal: Standing["temporal"];
  let answer: WatchedAnswer | undefined;
  let seesAnswers = false;
  let answered = "";
  let coming: Promise<LiveAnswer | undefined> | undefined;
  while (!signal.aborted) {
    const { turn } = said();
    // A turn that is over says that something else is under way.
    if (performance.now() >= describeAt || turn !== seen.turn) {
      // A signal of this call's own: each call leaves a listener on the one it is given.
      const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
      try {
        known = await look(run, source, known, patience);
        begun = newestTurn(known.work, begun);
        if (temporal === "away") temporal = "back";
      } catch (error) {
        if (patience.aborted || isAway(error)) temporal = "away";
      }
      const work = JSON.stringify(known, withoutHeartbeats);
      const isNews = turn !== seen.turn || work !== seen.work || temporal === "away";
      pauseMs = nextPause(DESCRIBE_PACE, pauseMs, isNews);
      describeAt = performance.now() + pauseMs;
      seen = { turn, work };
    }
    const isAnswering = known.work.activities.some(isModelTurn);
    // A store elsewhere may be late: what is known otherwise is shown meanwhile.
    coming ??= source
      .live(answer, isAnswering)
      .catch(() => undefined)
      .finally(() => (coming = undefined));
    const came = await Promise.race([coming, sleep(LATE_MS, LATE, { ref: false })]);
    if (came !== LATE) answer = watched(answer, came);
    seesAnswers ||= answer !== undefined;
    const atWork = known.work.activities.find(isModelTurn);
    const tried = `${atWork?.scheduledAt ?? ""} ${atWork?.attempt ?? 0}`;
    if (answer !== undefined && answer.attempt === atWork?.attempt) answered = tried;
    if (signal.aborted) return;
    const { askedAt = Number.POSITIVE_INFINITY, ...last } = said();
    show({
      runId: run.runId,
      ...known,
      ...last,
      isTurnOld: askedAt <= begun.at,
      now: Date.now(),
      seesAnswers,
      hasAnswered: answered === tried,
      ...defined({ temporal, answer }),
    });
    await sleep(LIVE_PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** The model turn that is under way, and when it was seen first. */
function newestTurn(
  { activities }: Standing["work"],
  before: { readonly turn: string; readonly at: number },
) {
  const turn = activities.find(({ activity }) => activity === MODEL_TURN)?.scheduledAt ?? before.turn;
  return turn === before.turn ? before : { turn, at: performance.now() };
}

/** What an activity does says itself: that it lives is no news. */
function withoutHeartbeats(key: string, value: unknown): unknown {
  return key === "heartbeatAt" ? undefined : value;
}

type Known = Pick<Standing, "work" | "nobody" | "missing" | "asked">;

function isModelTurn({ activity, standing }: PendingActivity): boolean {
  return activity === MODEL_TURN && standing === "running";
}

async function look(
  run: RunHandle,
  source: WorkSource,
  before: Known,
  patience: AbortSignal,
): Promise<Known> {
  const work = await run.pendingWork({ signal: patience });
  const nobody = waitsForWorker(work, Date.now()) ? await source.nobody() : undefined;
  // Between two tries of a run that lacks its model nothing is under way, nor in one that waits for a run below it.
  if (work.activities.length > 0) return { work, ...defined({ nobody }) };
  // A run that cannot be asked now waits for what it said last.
  const last = defined({ missing: before.missing, asked: before.asked });
  const still = nobody === undefined ? await source.still?.(patience).catch(() => last) : last;
  return { work, ...still, ...defined({ nobody }) };
}

/** So much of an answer's end is kept to be shown. */
const SHOWN_CHARS = 4_000;

function watched(before: WatchedAnswer | undefined, next: LiveAnswer | undefined): WatchedAnswer | undefined {
  if (next === undefined) return undefined;
  const shown = `${next.restarts ? "" : (before?.shown ?? "")}${next.text}`.slice(-SHOWN_CHARS);
  const came = next.lastAt ?? before?.lastAt;
  if (next.restarts || before === undefined) return { ...next, shown };
  // Where nothing has come since, what came before still stands.
  const { thinking, calls } = next.lastAt === undefined ? before : next;
  return { ...next, shown, thinking, calls, ...defined({ lastAt: came }) };
}
