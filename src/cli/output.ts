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
