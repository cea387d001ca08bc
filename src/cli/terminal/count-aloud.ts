import { printFaintNote } from "./output.js";

const EVERY_MS = 10_000;

/** Counts what a long step does, a call each, and says it to whoever waits, every ten seconds: `words` has the count in a sentence. */
export function countAloud<T extends readonly unknown[]>(
  words: (done: number, ...told: T) => string,
): (...told: T) => void {
  let done = 0;
  let saidAt = performance.now();
  return (...told) => {
    done += 1;
    if (performance.now() - saidAt < EVERY_MS) return;
    saidAt = performance.now();
    printFaintNote(words(done, ...told));
  };
}
