import { printPrompt } from "./output.js";
import { type Interface, createInterface } from "node:readline";

/** Where answers come from: lines of standard input, prompted for at a terminal. */
export interface AnswerSource {
  /** The next non-empty line; undefined at the end of the input. */
  next(): Promise<string | undefined>;
  close(): void;
}

/** No answers at all: the run is left waiting. */
export const NO_ANSWERS: AnswerSource = { next: () => Promise.resolve(undefined), close: () => undefined };

/** Reads answers line by line. Nothing is read before the first question. */
export function standardInputAnswers(): AnswerSource {
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
