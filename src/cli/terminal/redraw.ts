import { isDumbTerminal } from "../../config.js";
import { notesAreRead } from "./output.js";

/** Whether notes go to a terminal that takes more than text: they may be taken back and written anew. One that does not gets lines, as a pipe does. */
export function notesAreRedrawn(): boolean {
  return notesAreRead() && !isDumbTerminal();
}
