import { excerpt } from "../../core/text.js";
import { alertTerminal, printNote } from "./output.js";
import { notesAreRedrawn } from "./redraw.js";

const MAX_CHARS = 200;

/** A notice on the desktop by way of the terminal, which may be far away. Nothing where no terminal takes it. */
export function desktopNotice(text: string): void {
  // What begins with a number and `;` is a command to some terminals.
  if (notesAreRedrawn()) alertTerminal(excerpt(`Interlock: ${text}`, MAX_CHARS));
}

/** Says that there will be none, where that is so. */
export function expectTerminal(): void {
  if (!notesAreRedrawn()) printNote("--notify is for a terminal: there will be no notice.");
}
