import type { PendingActivity, PendingWork } from "../../client/runs/pending-work.js";
import { ended } from "../../core/text.js";

/** One line for a report: what an activity is at, why the attempt before failed, and when the next one is. */
export function workWords(activity: PendingActivity, now: number): string {
  const { standing, startedAt } = activity;
  const doing =
    standing === "running" && startedAt !== undefined
      ? `running for ${secondsSince(startedAt, now)} s`
      : standing === "paused"
        ? "paused in Temporal"
        : activity.nextTryAt === undefined
          ? "waiting for a worker"
          : `next try in ${waitUntil(activity.nextTryAt, now)}`;
  return `${activity.activity}, ${attemptWords(activity)}: ${doing}`;
}

/** `attempt 2 of 5` */
export function attemptWords({ attempt, maximumAttempts }: PendingActivity): string {
  return `attempt ${attempt}${maximumAttempts === undefined ? "" : ` of ${maximumAttempts}`}`;
}

/** Why the attempt before failed, as one sentence; undefined where there was none. */
export function failureWords({ lastFailure, attempt }: PendingActivity): string | undefined {
  if (lastFailure === undefined || attempt < 2) return undefined;
  const message = lastFailure.message.replace(/ \(attempt \d+(?: of \d+)?\)$/, "");
  return `attempt ${attempt - 1} failed: ${lastFailure.type}: ${ended(message)}`;
}

/** Whether anything waits for a worker to take it. */
export function waitsForWorker({ activities, workflowTaskSince }: PendingWork, now: number): boolean {
  const isDue = ({ standing, nextTryAt, scheduledAt }: PendingActivity): boolean =>
    standing === "waiting" && isPast(nextTryAt ?? scheduledAt, now);
  return activities.some(isDue) || (workflowTaskSince !== undefined && isPast(workflowTaskSince, now));
}

/** A worker that is there and free takes what is due sooner than this. */
const PICKED_UP_MS = 3_000;

function isPast(at: string | undefined, now: number): boolean {
  return at !== undefined && Date.parse(at) + PICKED_UP_MS < now;
}

/** Clocks may differ: never less than nothing. */
export function secondsSince(at: string, now: number): number {
  return Math.max(0, Math.floor((now - Date.parse(at)) / 1_000));
}

/** `10 s`, `25 min`, `12 h 5 min`: a provider's limit may be one of a day. */
export function waitUntil(at: string, now: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(at) - now) / 1_000));
  if (seconds < 600) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
