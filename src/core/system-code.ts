import { type Failed, fail } from "./errors.js";

/** Errors that Node has no name for, by their numbers on Linux and on macOS. */
const UNNAMED = /^(?:Unknown system error -(\d+)(?:: )?)+/;
const NAMES: ReadonlyMap<string | undefined, readonly [code: string, words: string]> = new Map([
  ["122", ["EDQUOT", "disk quota exceeded"]],
  ["69", ["EDQUOT", "disk quota exceeded"]],
  ["37", ["ENOLCK", "no locks available"]],
  ["77", ["ENOLCK", "no locks available"]],
]);

/** The code of an error that the operating system has reported, as `ENOSPC`; undefined for one without a code. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return nameOf(error.code)?.[0] ?? error.code;
}

function nameOf(text: string): readonly [code: string, words: string] | undefined {
  return NAMES.get(UNNAMED.exec(text)?.[1]);
}

/** The same of what only the operating system may have refused: any other error is thrown on. Its text may hold host paths. */
export function requireSystemCode(error: unknown): string {
  const code = systemCode(error);
  if (code === undefined) throw error;
  return code;
}

/** What helps where something could not be written: room on a full disk, else what is known of the place. */
export function writeRemedy(code: string, ofPlace: string): string {
  return isFull(code) ? "make room there, and call again" : ofPlace;
}

/** A disk, or what one user may have of it. */
export function isFull(code: string | undefined): boolean {
  return code === "ENOSPC" || code === "EDQUOT";
}

/** What belongs to somebody else, such as to root after a command with sudo. */
export function isDenied(code: string | undefined): boolean {
  return code === "EACCES" || code === "EPERM";
}

/** What a machine lacks for a moment, and may have again without anybody's doing; the rest stays until somebody sees to the place. */
const PASSING: ReadonlySet<string> = new Set([
  "EAGAIN",
  "EBUSY",
  "ECONNABORTED", // as the four of connections: what serves a mounted directory, such as sshfs or a share, is away
  "EDQUOT",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "EIO",
  "EMFILE",
  "ENFILE",
  "ENOLCK",
  "ENOMEM",
  "ENOSPC",
  "ENOTCONN",
  "ESTALE",
  "ETIMEDOUT",
]);

export function mayPass(code: string | undefined): boolean {
  return code !== undefined && PASSING.has(code);
}

/** What such an error says. */
export function systemWords({ message }: Error): string {
  const name = nameOf(message);
  return name === undefined ? message : message.replace(UNNAMED, name.join(": "));
}

/** What was thrown, in words. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? systemWords(error) : String(error);
}

/** What is said of a path that is not open to whoever asks, such as a folder of another user's; undefined for any other error. */
export function closedWords(error: unknown): string | undefined {
  if (!(error instanceof Error) || !isDenied(systemCode(error)) || !("path" in error)) return undefined;
  return `${String(error.path)} is not open to this user (${systemWords(error)}). See to its permissions, or call this as the user whose it is.`;
}

/** What is said of a file that the system does not let be read: what is in it may be whole, and nobody is to remove it. */
export function unreadNow(path: string, code: string): string {
  return `${path} cannot be read now (${code}). That says nothing of what is in it: see to its permissions, or to its disk, and call again.`;
}

/** Whether the system does not let a file be read at the moment, which says nothing of what is in it. */
export function isUnreadNow(code: string | undefined): code is string {
  return isDenied(code) || mayPass(code);
}

/** For a `catch`: `none` in the place of what is damaged; what cannot be read now is thrown on, for it may be whole. */
export function unlessUnreadNow<T>(none: T): (error: unknown) => T {
  return (error) => {
    if (isUnreadNow(systemCode(error))) throw error;
    return none;
  };
}

/** What was thrown while a file of ours was read, in words: with what helps where the system does not let it be read. */
export function readingWords(error: unknown): string {
  const code = systemCode(error);
  if (!isUnreadNow(code) || !(error instanceof Error) || !("path" in error)) return wordsOf(error);
  return unreadNow(String(error.path), code);
}

/** The fault of what cannot be read now; undefined where the code says more of it than that. */
export function unreadFault(path: string, code: string | undefined): Failed | undefined {
  return code !== undefined && mayPass(code) ? fail("E_INTERNAL", unreadNow(path, code)) : undefined;
}

/** Why no process is started, by what the machine or this user lacks, with what helps; undefined where the code speaks of the program. */
const NOT_STARTED: ReadonlyMap<string | undefined, string> = new Map([
  [
    "EAGAIN",
    "this user may start no further process now (EAGAIN): raise the limit (ulimit -u, the service's TasksMax, the container's pids)",
  ],
  ["ENOMEM", "there is no memory for a further process (ENOMEM): make room there"],
  ["EMFILE", "this process has too many files open (EMFILE): raise the limit (ulimit -n)"],
  ["ENFILE", "this machine has too many files open (ENFILE)"],
  [
    "E2BIG",
    "its arguments and variables are longer than the system takes (E2BIG): hand it a file in their place",
  ],
]);

export function notStartedWords(code: string | undefined): string | undefined {
  return NOT_STARTED.get(code);
}
