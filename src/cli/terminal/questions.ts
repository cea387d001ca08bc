import { CommandError, notesAreRead, openTerminal, printNote } from "./output.js";

/** Asks for a line; `otherwise` is what an empty one means. */
export type Ask = (question: string, otherwise: string) => Promise<string>;

/** Questions to somebody at a terminal, one line each; undefined where nobody sits at one. */
export function openPrompt(): { readonly ask: Ask; close(): void } | undefined {
  if (!process.stdin.isTTY || !notesAreRead()) return undefined;
  const terminal = openTerminal(true);
  const { reader } = terminal;
  // The terminal leaves Ctrl-C to whoever reads its keys.
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const lines = reader[Symbol.asyncIterator]();
  return {
    async ask(question, otherwise) {
      printNote(otherwise === "" ? question : `${question} [${otherwise}]`);
      reader.prompt();
      const line = await lines.next();
      if (line.done === true) throw new CommandError("Nothing was made: the questions were not answered.");
      return line.value.trim() || otherwise;
    },
    close: () => terminal.end(),
  };
}
