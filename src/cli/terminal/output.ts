import { writeSync } from "node:fs";
import { type Interface, createInterface } from "node:readline";
import type { Fault, Result } from "../../core/errors.js";
import { isFull, systemCode } from "../../core/system-code.js";
import { printable, printableJsonText, printableLines } from "../../core/printable.js";

/**
 * All that a command says goes through here (`test/boundaries/output.test.ts`). What is said may hold names and texts of
 * packages, models and projects: none of them reaches a terminal as it is, and none can forge a line.
 */

/** How a command ended, as the shell sees it. */
export const EXIT = { done: 0, failed: 1, usage: 2, waiting: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Wrong usage: the message says what to type instead. */
export class UsageError extends Error {}

/** A command that cannot go on for a reason the user can mend. */
export class CommandError extends Error {}

/** Nothing answers where Temporal is configured to be, or none of the store's own can be started. */
export class NoTemporal extends CommandError {}

/** What was asked for. Throws what `asError` makes of code and message where that is a fault. */
export function usable<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw asError(result.error, `${result.error.code}: ${result.error.message}`);
}

/** A fault as a command ends by it: what was asked for is wrong, unless the machine could not do it (`E_INTERNAL`). `remedy` is for the first. */
export function asError({ code, message }: Fault, said = message, remedy = ""): Error {
  return code === "E_INTERNAL" ? new CommandError(said) : new UsageError(`${said}${remedy}`);
}

/** As a shell sees a program that wrote into a pipe whose reader was gone: 128 and SIGPIPE. */
const EXIT_PIPE_CLOSED = 141;

type Stream = "stdout" | "stderr";

const closed = new AbortController();
let broken: number | undefined;

/** Aborted when whoever read the output is gone: there is nobody left to go on for. */
export const outputClosed: AbortSignal = closed.signal;

/** The exit code of a command whose output could not be written; undefined while it could. */
export function brokenOutput(): number | undefined {
  return broken;
}

/** A reader that has gone ends the command without a word; any other trouble with the output is one sentence. */
export function watchOutput(): void {
  for (const stream of ["stdout", "stderr"] as const) {
    process[stream].on("error", (error: NodeJS.ErrnoException) => noteBroken(stream, error));
  }
}

/** From now on a full disk costs lines, and no more: who runs for months writes on once there is room. */
export function outlastFullDisk(): void {
  outlasts = true;
}

let outlasts = false;
/** Those that Node has closed at a full disk, and whether what was written last may have been cut off. */
const full = new Map<Stream, boolean>();

/** What finds no room is lost. */
function writePast(stream: Stream, isCut: boolean, text: string): void {
  const bytes = Buffer.from(isCut ? `\n${text}` : text);
  let written = 0;
  try {
    written = writeSync(stream === "stdout" ? 1 : 2, bytes);
  } catch {
    // There is none yet.
  }
  full.set(stream, written < bytes.length);
}

/** What a stalled reader has not taken, at most; what is printed meanwhile is lost. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * From now on a terminal that takes nothing for a while (Ctrl-S) holds nothing up: what is printed waits in memory, as it does for a pipe.
 * By itself Node stands still with it, and so would all that a worker does.
 */
export function waitForNoTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) {
    // Not among Node's types; where there is none, it stays as it was.
    const { _handle: handle } = stream as { readonly _handle?: { setBlocking?(isBlocking: boolean): void } };
    if (stream.isTTY) handle?.setBlocking?.(false);
  }
}

/** Resolves when whoever reads the output has taken it, or is gone. */
export async function outputTaken(): Promise<void> {
  const waiting = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0);
  await Promise.all(
    waiting.map((stream) => new Promise<void>((resolve) => stream.write("", () => resolve()))),
  );
}

function noteBroken(stream: Stream, error: NodeJS.ErrnoException): void {
  if (outlasts && isFull(systemCode(error))) full.set(stream, true);
  if (broken !== undefined || full.has(stream)) return;
  broken = error.code === "EPIPE" ? EXIT_PIPE_CLOSED : EXIT.failed;
  process.exitCode = broken;
  if (error.code === "EPIPE") closed.abort(new Error("The output was closed."));
  else if (stream === "stdout") {
    const reason = error.code === "ENOSPC" ? "the device is full" : (systemCode(error) ?? error.message);
    process.stderr.write(`The output could not be written: ${printable(reason)}.\n`);
  }
}

let isAnswered = false;
let lastError: string | undefined;

/** What a command ends by, where it is said elsewhere. */
export function noteError(message: string): void {
  lastError = message;
}

/**
 * Where a program was promised JSON and a failed command has printed none, why it failed: `{ ok: false, error: { message } }`. The next
 * command of this process begins with nothing said.
 */
export function printJsonOfError(argv: readonly string[], exitCode: number): void {
  const end = argv.indexOf("--");
  const isPromised = (end === -1 ? argv : argv.slice(0, end)).includes("--json");
  const isOwed = isPromised && !isAnswered && exitCode !== EXIT.done && lastError !== undefined;
  if (isOwed) printJson({ ok: false, error: { message: lastError } });
  isAnswered = false;
  lastError = undefined;
}

/** The only place that writes. `text` is printable, line breaks apart. */
function write(stream: Stream, text: string): void {
  if (broken !== undefined) return;
  isAnswered ||= stream === "stdout";
  const isCut = full.get(stream);
  if (isCut !== undefined) {
    writePast(stream, isCut, text);
    return;
  }
  if (outlasts && process[stream].writableLength > MAX_UNREAD_BYTES) return;
  try {
    process[stream].write(text);
  } catch (error) {
    noteBroken(stream, error as NodeJS.ErrnoException); // thrown by the system
  }
}

let recorder: ((isError: boolean, text: string) => void) | undefined;

/** From now on, what would be said in lines for people is given to this, each text as a whole. */
export function recordInstead(record: (isError: boolean, text: string) => void): void {
  recorder = record;
}

/** A line of a log, with its end: JSON on standard error. */
export function printLogLine(line: string): void {
  write("stderr", printableJsonText(line));
}

/** One JSON value on standard output, for programs. */
export function printJson(value: unknown): void {
  write("stdout", `${printableJsonText(JSON.stringify(value))}\n`);
}

/** Whether people read what is printed, at a terminal. */
export function outputIsTerminal(): boolean {
  return process.stdout.isTTY;
}

/** Bytes as they are, for a program: never for a terminal. Waits until they are taken. */
export async function writeBytes(bytes: Uint8Array): Promise<void> {
  if (broken !== undefined || process.stdout.isTTY) return;
  await new Promise<void>((resolve) => process.stdout.write(bytes, () => resolve()));
}

/** One line. What is not printable in it is shown as an escape, line breaks included. */
export function print(line: string): void {
  if (recorder !== undefined) recorder(false, line);
  else write("stdout", `${printable(line)}\n`);
}

/** Lines of one text, each behind a prefix that says whose they are. */
export function printBlock(text: string, prefix = ""): void {
  for (const line of printableLines(text)) write("stdout", `${printable(prefix)}${line}\n`);
}

/** A text behind its label; what follows its first line cannot be taken for a label of its own. */
export function printLabelled(label: string, text: string): void {
  const [first = "", ...more] = printableLines(text);
  const indent = `${" ".repeat(label.length)}│ `;
  write("stdout", [label + first, ...more.map((line) => indent + line)].map((line) => `${line}\n`).join(""));
}

/** One line for people, where standard output may belong to a program. */
export function printNote(line: string): void {
  if (recorder !== undefined) recorder(false, line);
  else write("stderr", `${printable(line)}\n`);
}

/** As `printBlock`, for people. */
export function printNoteBlock(text: string, prefix = ""): void {
  for (const line of printableLines(text)) write("stderr", `${printable(prefix)}${line}\n`);
}

/** A sentence and what belongs to it, indented, so that none of it can be taken for something else. */
export function printError(message: string): void {
  noteError(message);
  if (recorder !== undefined) {
    recorder(true, message);
    return;
  }
  const [sentence = "", ...more] = printableLines(message);
  write("stderr", [sentence, ...more.map((line) => `  ${line}`)].map((line) => `${line}\n`).join(""));
}

/** One step of a run, as people follow it. `dimmed` on a terminal only. */
export function printStep(nodeId: string, text: string, dimmed: boolean): void {
  const node = printable(nodeId).padEnd(28);
  write("stderr", `${dimmed ? `  ${faint(node)}` : node} ${printable(text)}\n`);
}

/** As `printNote`, for what matters less. */
export function printFaintNote(line: string): void {
  write("stderr", `${faint(printable(line))}\n`);
}

/** Where colours are not wanted (`NO_COLOR`), nothing is faint either. */
function faint(text: string): string {
  return process.stderr.isTTY && process.stderr.hasColors() ? `\u001B[2m${text}\u001B[22m` : text;
}

/** How much room there is for notes. */
export function noteRoom(): { readonly columns: number; readonly rows: number } {
  const { columns, rows } = process.stderr; // undefined where there is no terminal, whatever their types say
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
}

/** Takes the last lines on standard error back. For a terminal. */
export function eraseNotes(lines: number): void {
  if (lines > 0) write("stderr", `\u001B[${lines}A\u001B[0J`);
}

/**
 * Asks the terminal for a notice on the desktop (OSC 9), and rings its bell for those that know none. One that knows neither shows
 * nothing.
 */
export function alertTerminal(text: string): void {
  if (process.stderr.isTTY) write("stderr", `\u001B]9;${printable(text)}\u0007\u0007`);
}

/** Asks for a line, at a terminal. */
export function printPrompt(): void {
  if (process.stdin.isTTY) write("stderr", "> ");
}

/**
 * Reads lines at a terminal, echoing them where the question stands. A terminal that knows it says where a pasted text begins and ends
 * until `end` is called. Ctrl-Z leaves the terminal to the shell, and `fg` brings the question back.
 */
export function openTerminal(isDumb: boolean): { readonly reader: Interface; end(): void } {
  const reader = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: true,
    prompt: "> ",
    historySize: 0,
  });
  // Of a terminal that is closed. What is read of it has ended as well.
  process.stdin.off("error", passOver).on("error", passOver);
  reader.on("error", passOver);
  const tellOfPastes = (isWanted: boolean): void => {
    if (!isDumb) write("stderr", isWanted ? "\u001B[?2004h" : "\u001B[?2004l");
  };
  const goOn = (): void => {
    process.stdin.setRawMode(true);
    tellOfPastes(true);
    reader.prompt(true);
  };
  // By itself `readline` reads nothing afterwards, and stops only this process: a program that has started it would wait for it, in the foreground.
  reader.on("SIGTSTP", () => {
    tellOfPastes(false);
    process.stdin.setRawMode(false);
    process.kill(0, "SIGTSTP");
    goOn(); // where nobody could let it go on, nothing has stopped
  });
  process.on("SIGCONT", goOn);
  tellOfPastes(true);
  return {
    reader,
    end() {
      process.off("SIGCONT", goOn);
      reader.close();
      tellOfPastes(false);
    },
  };
}

function passOver(): void {}

/** Where an editor draws: standard output may belong to a program. */
export function editorOutput(): "inherit" | 2 {
  return process.stdout.isTTY ? "inherit" : 2;
}

/** Whether people read what is noted, at a terminal. */
export function notesAreRead(): boolean {
  return process.stderr.isTTY;
}

/** How many characters a line of the output has room for; undefined where it goes to no terminal. */
export function outputWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}
