import type { Interface } from "node:readline";
import { isDumbTerminal } from "../../config.js";
import { MAX_USER_INPUT_BYTES } from "../../core/run/limits.js";
import { writtenText } from "../../core/written-text.js";
import { checkedText, tooLong } from "./answer-text.js";
import { UsageError, notesAreRead, openTerminal, printNote, printPrompt } from "./output.js";

/** Where answers come from: lines of standard input, prompted for at a terminal. */
export interface AnswerSource {
  /** The next answer that is not empty; undefined at the end of the input. */
  next(): Promise<string | undefined>;
  close(): void;
}

/** No answers at all: the run is left waiting. */
export const NO_ANSWERS: AnswerSource = { next: () => Promise.resolve(undefined), close: () => undefined };

/** The user's answers: at a terminal a pasted text is one, else each line is. */
export function userAnswers(): AnswerSource {
  return process.stdin.isTTY && notesAreRead() ? terminalAnswers() : standardInputAnswers();
}

/** Of an answer, with the carriage return of a line of Windows'. */
const LONGEST_LINE = MAX_USER_INPUT_BYTES + 1;

/** Reads answers line by line. Nothing is read before the first question. */
function standardInputAnswers(): AnswerSource {
  let lines: AsyncIterator<string> | undefined;
  return {
    async next() {
      lines ??= answersIn(process.stdin);
      printPrompt();
      const line = await lines.next();
      return line.done === true ? undefined : line.value;
    },
    close() {
      if (lines !== undefined) process.stdin.destroy(); // an open pipe would keep the process alive
    },
  };
}

/**
 * The answers in lines of an input, as they are sent. It ends with the input, and before a line that can be no answer, which is said:
 * the lines after it are for other questions.
 */
async function* answersIn(input: AsyncIterable<unknown>): AsyncGenerator<string, void> {
  let number = 0;
  try {
    for await (const line of linesIn(input)) {
      number += 1;
      const what = `Line ${number} of standard input`;
      if (line.length > LONGEST_LINE) throw tooLong(what);
      const written = writtenText(line);
      if ("problem" in written) throw new UsageError(`${what} ${written.problem}.`);
      if (written.text.trim() !== "") yield checkedText(written.text);
    }
  } catch (error) {
    if (!(error instanceof UsageError)) return; // it was closed, or cannot be read: nothing more comes
    printNote(`${error.message} Neither that line nor one after it was sent as an answer.`);
  }
}

/** The lines of an input, without their ends. One that is longer than any answer comes as far as it was read, and is the last. */
async function* linesIn(input: AsyncIterable<unknown>): AsyncGenerator<Buffer, void> {
  let begun = Buffer.alloc(0);
  for await (const chunk of input) {
    let rest = Buffer.concat([begun, Buffer.from(chunk as Uint8Array)]); // no encoding is set
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
      yield rest.subarray(0, end);
      rest = rest.subarray(end + 1);
    }
    begun = rest;
    if (begun.length > LONGEST_LINE) break;
  }
  if (begun.length > 0) yield begun;
}

/**
 * Reads answers at a terminal. A line is one, as soon as it is entered; a text of several lines that is pasted is one as well, and is sent
 * by an empty line or Ctrl-D. Where the terminal does not say what is pasted, lines that come at once are.
 */
function terminalAnswers(): AnswerSource {
  let end: (() => void) | undefined;
  return {
    next: () =>
      new Promise((resolve) => {
        const answer = new TerminalAnswer((text) => {
          end?.();
          resolve(text);
        });
        const terminal = openTerminal(isDumbTerminal());
        const { reader } = terminal;
        const onKey = (_: unknown, key: Key | undefined): void => answer.key(reader, key ?? {});
        end = () => {
          end = undefined;
          process.stdin.off("keypress", onKey);
          terminal.end();
        };
        reader.on("line", (line) => answer.line(reader, line));
        reader.on("close", () => answer.ended());
        // The terminal leaves Ctrl-C to whoever reads its keys.
        reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
        process.stdin.on("keypress", onKey);
        reader.prompt();
      }),
    close() {
      end?.();
      process.stdin.destroy();
    },
  };
}

/** As `readline` tells of a key. */
interface Key {
  readonly name?: string | undefined;
  readonly ctrl?: boolean;
}

/** An answer that is being given. */
class TerminalAnswer {
  private readonly lines: string[] = [];
  /** Between the terminal's words that a pasted text begins and ends. */
  private isPasted = false;
  /** Several lines have come: an empty one ends them. */
  private hasSeveral = false;
  private isGiven = false;
  private readonly give: (text: string | undefined) => void;

  constructor(give: (text: string | undefined) => void) {
    this.give = give;
  }

  line(reader: Interface, line: string): void {
    if (this.isGiven) return;
    if (this.hasSeveral && !this.isPasted && line.trim() === "") {
      this.done();
      return;
    }
    if (this.lines.length === 0 && line.trim() === "") {
      if (!this.isPasted) reader.prompt();
      return;
    }
    this.lines.push(line);
    if (this.isPasted || this.hasSeveral || this.lines.length > 1) return;
    setImmediate(() => {
      if (this.lines.length > 1 || this.isPasted) this.severalCame(reader);
      else this.done();
    });
  }

  key(reader: Interface, { name, ctrl = false }: Key): void {
    if (this.isGiven) return;
    if (name === "paste-start") this.isPasted = true;
    if (name === "paste-end" && this.isPasted) {
      this.isPasted = false;
      if (this.lines.length > 0) this.severalCame(reader);
    }
    // On a line that is not empty `readline` makes nothing of it.
    if (ctrl && name === "d" && !this.isPasted && reader.line.trim() !== "") {
      this.lines.push(reader.line);
      this.done();
    }
  }

  /** Nothing more comes. */
  ended(): void {
    if (!this.isGiven) this.done();
  }

  private severalCame(reader: Interface): void {
    if (this.isGiven || this.isPasted || this.hasSeveral) return;
    this.hasSeveral = true;
    if (reader.line !== "") printNote("");
    printNote("A text of several lines is one answer. An empty line or Ctrl-D sends it.");
    reader.prompt(true);
  }

  private done(): void {
    this.isGiven = true;
    const text = this.lines.join("\n").trimEnd();
    this.give(text === "" ? undefined : text);
  }
}
