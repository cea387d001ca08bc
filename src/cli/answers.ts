import { type Interface, createInterface } from "node:readline";
import { isDumbTerminal } from "../config.js";
import { notesAreRead, openTerminal, printNote, printPrompt } from "./output.js";

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

/** Reads answers line by line. Nothing is read before the first question. */
function standardInputAnswers(): AnswerSource {
  let reader: Interface | undefined;
  let lines: AsyncIterator<string> | undefined;
  return {
    async next() {
      reader ??= createInterface({ input: process.stdin, terminal: false });
      lines ??= reader[Symbol.asyncIterator]();
      printPrompt();
      for (;;) {
        const line = await lines.next();
        if (line.done === true) return undefined;
        if (line.value.trim() !== "") return line.value;
      }
    },
    close() {
      if (reader === undefined) return;
      reader.close();
      process.stdin.destroy(); // an open pipe would keep the process alive
    },
  };
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
