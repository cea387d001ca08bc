import { isDumbTerminal } from "../../config.js";
import { notesAreRead } from "./output.js";

/** Whether notes may be taken back and written anew: a terminal that takes nothing but text gets lines, as a pipe does. */
export function notesAreRedrawn(): boolean {
  return notesAreRead() && !isDumbTerminal();
}
