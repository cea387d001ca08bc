import { excerpt } from "../core/text.js";

/** How a command ended, as the shell sees it. */
export const EXIT = { done: 0, failed: 1, usage: 2, waiting: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Wrong usage: the message says what to type instead. */
export class UsageError extends Error {}

/** A command that cannot go on for a reason the user can mend. */
export class CommandError extends Error {}

/** One JSON value on standard output, for programs. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** For people, where standard output may belong to a program. */
export function printNote(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A run id that names nothing. */
export function noSuchRun(runId: string): UsageError {
  return new UsageError(`There is no run "${excerpt(runId, 80)}" in this store. See: interlock runs`);
}

/** What to do about a queue that nobody polls. */
export function noWorkerHint(embedded: boolean, taskQueue: string): string {
  const start = embedded ? "interlock dev" : "interlock worker";
  return `No worker polls the task queue "${taskQueue}": the run waits until one does. Start one with: ${start}`;
}
