import type { PendingActivity, PendingWork } from "../../client/runs/pending-work.js";
import { TEMPORAL_AWAY, TEMPORAL_BACK, taskFailureWords } from "../session/standstill-words.js";
import { attemptWords, failureWords, secondsSince, waitUntil } from "../session/work-words.js";
import type { LiveAnswer } from "../../store/runs/live-answer.js";

/** What a run waits for, as those who follow it see it. Pure words: whoever prints them makes them printable. */
export interface Standing {
  readonly runId: string;
  readonly work: PendingWork;
  /** Which model turn it is, such as `model turn 3 · step-02`, as far as the run has said so. */
  readonly turn: string;
  /** The model turn under way has begun since: it may be another one, of another node. */
  readonly isTurnOld?: boolean;
  /** What has come of the answer that is being given, where the store is at hand. */
  readonly answer?: WatchedAnswer;
  /** Answers can be seen as they come, from elsewhere a while later: where none is, none is being given. */
  readonly seesAnswers: boolean;
  /** One was seen in this try of the turn: where none is any more, it is over. */
  readonly hasAnswered: boolean;
  /** Why the turn waits for another worker: none that was asked has the run's model. Between two tries nothing is at work. */
  readonly missing?: string;
  /** Which run below waits for a person, and with what. */
  readonly asked?: string;
  /** Temporal does not answer any more, or does again since; absent while it has always answered. */
  readonly temporal?: "away" | "back";
  /** What to do about work that no worker takes; absent while nothing waits for one. */
  readonly nobody?: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** An answer as far as it has come. */
export interface WatchedAnswer extends LiveAnswer {
  /** The end of its text. */
  readonly shown: string;
}

/** A sentence that is said once, under its key. */
export interface Notice {
  readonly key: string;
  readonly text: string;
}

/** What somebody who reads a pipe is told: one sentence for each change. */
export function noticesOf(standing: Standing): readonly Notice[] {
  const notices: Notice[] = [];
  // What else is known is of the time before.
  if (standing.temporal === "away") return [{ key: "away", text: TEMPORAL_AWAY }];
  if (standing.temporal === "back") notices.push({ key: "back", text: TEMPORAL_BACK });
  if (standing.nobody !== undefined) notices.push({ key: "nobody", text: standing.nobody });
  const { taskFailure } = standing.work;
  if (taskFailure !== undefined) {
    notices.push({ key: `task ${taskFailure.message}`, text: taskFailureWords(standing.runId, taskFailure) });
  }
  if (standing.missing !== undefined) {
    notices.push({ key: `missing ${standing.missing}`, text: missingWords(standing.missing) });
  }
  if (standing.asked !== undefined) notices.push({ key: `asked ${standing.asked}`, text: standing.asked });
  for (const activity of standing.work.activities) {
    if (isMisnamed(activity, standing)) continue; // it is said once: under its own name, in a moment
    const name = nameOf(activity, standing);
    const key = `${activity.activity} ${activity.scheduledAt ?? ""} ${activity.attempt}`;
    const failure = failureWords(activity);
    if (failure !== undefined) {
      notices.push({
        key: `${key} failed`,
        text: `${name}: ${failure} ${nextWords(activity, standing.now)}`,
      });
    }
    if (activity.standing === "paused") {
      notices.push({
        key: `${key} paused`,
        text: `${name}: paused in Temporal; it goes on when it is unpaused there.`,
      });
    }
    const silence = silenceOf(activity, standing);
    const step = silence && SILENCE_STEPS_S.findLast((seconds) => seconds <= silence.seconds);
    if (silence !== undefined && step !== undefined) {
      const minute = Math.floor(silence.seconds / 60);
      notices.push({ key: `${key} silent ${step} ${minute}`, text: `${name}: ${silence.words}` });
    }
  }
  // Of several that say the same at once, one does.
  return notices.filter(({ text }, at) => notices.findIndex((other) => other.text === text) === at);
}

/** Why a turn waits while nothing is at work; it is asked for again and again. */
function missingWords(missing: string): string {
  return `waiting for a worker that has the run's model: ${missing}`;
}

/** When a silence is worth a sentence; after that, each minute is. */
const SILENCE_STEPS_S = [3, 10, 30, 60];

/** The same for a terminal, where it stands below the run until it changes. */
export function waitingLines(standing: Standing): readonly string[] {
  if (standing.temporal === "away") return [TEMPORAL_AWAY];
  const lines: string[] = [];
  const all = standing.work.activities.map((activity) => activityLines(activity, standing));
  for (const { words, count } of countedAlike(all)) {
    const [first = "", ...more] = words;
    lines.push(count === 1 ? first : `${first} · ${count} times`, ...more);
  }
  const isAtWork = standing.work.activities.some((activity) => activity.standing === "running");
  if (standing.missing !== undefined && !isAtWork) lines.push(missingWords(standing.missing));
  if (standing.asked !== undefined) lines.push(standing.asked);
  const { taskFailure } = standing.work;
  if (taskFailure !== undefined) lines.push(taskFailureWords(standing.runId, taskFailure));
  if (standing.nobody !== undefined) lines.push(standing.nobody);
  return lines;
}

function activityLines(activity: PendingActivity, standing: Standing): readonly string[] {
  const { startedAt, attempt } = activity;
  const tries = attempt > 1 ? ` · ${attemptWords(activity)}` : "";
  const elapsed = startedAt === undefined ? "" : ` · ${secondsSince(startedAt, standing.now)} s`;
  const lines = [`${nameOf(activity, standing)}${elapsed}${tries}`];
  const failure = failureWords(activity);
  if (failure !== undefined) lines.push(`${failure} ${nextWords(activity, standing.now)}`);
  if (activity.standing === "paused") lines.push("paused in Temporal; it goes on when it is unpaused there");
  const silence = silenceOf(activity, standing);
  return silence === undefined ? lines : [...lines, silence.words];
}

/** What is to be said several times in the same words, such as of the bars of nodes that were passed quickly, is said once. */
export function countedAlike(
  all: readonly (readonly string[])[],
): readonly { readonly words: readonly string[]; readonly count: number }[] {
  const counted = new Map<string, { readonly words: readonly string[]; readonly count: number }>();
  for (const words of all) {
    const key = words.join("\n");
    counted.set(key, { words, count: (counted.get(key)?.count ?? 0) + 1 });
  }
  return [...counted.values()];
}

/** What has come of an answer beside its text: one line, or none. */
export function progressWords({ thinking, calls, shown }: WatchedAnswer): string {
  const call = calls.at(-1);
  if (call !== undefined) return `${call.name}… ${call.bytes.toLocaleString("en")} bytes`;
  return thinking === 0 || shown.trim() !== "" ? "" : `thinking… ${thinking.toLocaleString("en")} characters`;
}

function nextWords(activity: PendingActivity, now: number): string {
  const { standing, nextTryAt } = activity;
  const which = attemptWords(activity);
  if (standing === "running") return `Trying again: ${which}.`;
  if (nextTryAt === undefined) return `Next: ${which}.`;
  return `Next try in ${waitUntil(nextTryAt, now)}: ${which}.`;
}

/** How long nothing has come of an answer; undefined while that is not worth a word. */
function silenceOf(
  { activity, standing, startedAt, attempt }: PendingActivity,
  { answer, seesAnswers, hasAnswered, now }: Standing,
): { readonly seconds: number; readonly words: string } | undefined {
  if (activity !== MODEL_TURN || standing !== "running" || startedAt === undefined) return undefined;
  const isWatched = answer !== undefined && answer.attempt === attempt;
  if (!isWatched && hasAnswered) return undefined;
  const seconds = secondsSince(isWatched ? (answer.lastAt ?? answer.startedAt) : startedAt, now);
  const [first = 0, second = 0] = SILENCE_STEPS_S;
  if (seconds < (isWatched || !seesAnswers ? first : second)) return undefined;
  if (!isWatched) return { seconds, words: `no answer yet for ${seconds} s.` };
  const what = answer.lastAt === undefined ? "no answer yet from" : "nothing more from";
  const timeout = Math.round(answer.timeoutMs / 1_000);
  return { seconds, words: `${what} ${hostOf(answer.endpoint)} for ${seconds} s (timeout ${timeout} s).` };
}

/** The activity in which a model is asked. */
export const MODEL_TURN = "model.turn";

function nameOf(pending: PendingActivity, standing: Standing): string {
  const { turn } = standing;
  return pending.activity === MODEL_TURN && turn !== "" && !isMisnamed(pending, standing)
    ? turn
    : pending.activity;
}

/** What is told of a failure is not told of a turn that may be over. */
function isMisnamed({ activity, attempt }: PendingActivity, { isTurnOld = false }: Standing): boolean {
  return activity === MODEL_TURN && attempt > 1 && isTurnOld;
}

function hostOf(endpoint: string): string {
  return URL.canParse(endpoint) ? new URL(endpoint).host : endpoint;
}
