import { onTestFinished } from "vitest";
import { withFileLock } from "../../src/store/disk/fenced-lock.js";

/** Holds a lock of a run until it is let go: what needs it waits as long. */
export async function held(lockFile: string): Promise<{ readonly letGo: () => void }> {
  let letGo: () => void = () => undefined;
  await new Promise<void>((taken) => {
    void withFileLock(lockFile, () => {
      taken();
      return new Promise<void>((resolve) => (letGo = resolve));
    });
  });
  onTestFinished(() => letGo());
  return { letGo };
}
