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
  const work = new WorkView(run, source);
  const answers = new AnswerView(source);
  while (!signal.aborted) {
    await work.look(said().turn, signal);
    await answers.look(work.known.work.activities.find(isModelTurn));
    if (signal.aborted) return;
    const { askedAt = Number.POSITIVE_INFINITY, ...last } = said();
    show({
      runId: run.runId,
      ...work.known,
      ...last,
      isTurnOld: askedAt <= work.begunAt,
      now: Date.now(),
      ...answers.seen,
      ...defined({ temporal: work.temporal }),
    });
    await sleep(LIVE_PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** What Temporal says that is under way, asked for at a pace of its own. */
class WorkView {
  known: Known = { work: { activities: [] } };
  temporal: Standing["temporal"];
  readonly #run: RunHandle;
  readonly #source: WorkSource;
  #begun = { turn: "", at: 0 };
  #seen = { turn: "", work: "" };
  #dueAt = 0;
  #pauseMs = 0;

  constructor(run: RunHandle, source: WorkSource) {
    this.#run = run;
    this.#source = source;
  }

  /** When the model turn that is under way was seen first, by `performance.now()`. */
  get begunAt(): number {
    return this.#begun.at;
  }

  /** Asks where that is due. A turn that is over says that something else is under way. */
  async look(turn: string, signal: AbortSignal): Promise<void> {
    if (performance.now() < this.#dueAt && turn === this.#seen.turn) return;
    // A signal of this call's own: each call leaves a listener on the one it is given.
    const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
    try {
      this.known = await look(this.#run, this.#source, this.known, patience);
      this.#begun = newestTurn(this.known.work, this.#begun);
      if (this.temporal === "away") this.temporal = "back";
    } catch (error) {
      if (patience.aborted || isAway(error)) this.temporal = "away";
    }
    const work = JSON.stringify(this.known, withoutHeartbeats);
    const isNews = turn !== this.#seen.turn || work !== this.#seen.work || this.temporal === "away";
    this.#pauseMs = nextPause(DESCRIBE_PACE, this.#pauseMs, isNews);
    this.#dueAt = performance.now() + this.#pauseMs;
    this.#seen = { turn, work };
  }
}

/** What has come of the answer that a model is at. */
class AnswerView {
  readonly #source: WorkSource;
  #answer: WatchedAnswer | undefined;
  #coming: Promise<LiveAnswer | undefined> | undefined;
  #seesAnswers = false;
  /** The try that is under way, and the last one of which an answer was seen. */
  #tried = "";
  #answered = "";

  constructor(source: WorkSource) {
    this.#source = source;
  }

  get seen(): Pick<Standing, "seesAnswers" | "hasAnswered" | "answer"> {
    const hasAnswered = this.#answered === this.#tried;
    return { seesAnswers: this.#seesAnswers, hasAnswered, ...defined({ answer: this.#answer }) };
  }

  /** A store elsewhere may be late: what is known otherwise is shown meanwhile. */
  async look(atWork: PendingActivity | undefined): Promise<void> {
    this.#coming ??= this.#source
      .live(this.#answer, atWork !== undefined)
      .catch(() => undefined)
      .finally(() => (this.#coming = undefined));
    const came = await Promise.race([this.#coming, sleep(LATE_MS, LATE, { ref: false })]);
    if (came !== LATE) this.#answer = watched(this.#answer, came);
    if (this.#answer !== undefined) this.#seesAnswers = true;
    this.#tried = `${atWork?.scheduledAt ?? ""} ${atWork?.attempt ?? 0}`;
    if (this.#answer !== undefined && this.#answer.attempt === atWork?.attempt) this.#answered = this.#tried;
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
