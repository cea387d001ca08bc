import { subscribe } from "node:diagnostics_channel";
import { dirname } from "node:path";
import { LOCK_WAITED_FOR, type WaitedFor } from "../../store/disk/fenced-lock.js";
import { printNote } from "../terminal/output.js";

let isTold = false;

/** From now on it is said what this process waits for until another one is done: that may take minutes, and one that is stopped never is. */
export function tellOfWaits(): void {
  if (isTold) return;
  isTold = true;
  subscribe(LOCK_WAITED_FOR, (message) => {
    const { lockFile, isEndless } = message as WaitedFor; // what `fenced-lock` publishes
    if (isEndless) printNote(`Another process works on ${dirname(lockFile)}: waiting until it is done.`);
  });
}
