import { appendFileSync } from "node:fs";
import type { FailpointName } from "../../src/core/failpoint.js";

/** What a process of the crash tests is told through the variable `INTERLOCK_TEST_FAILPOINT`, as JSON. */
export interface Arming {
  /** Gets a line for each hit. */
  readonly hitsFile: string;
  /** Where to act, and at which hit, counted from 1; nowhere when absent. */
  readonly at?: { readonly name: string; readonly hit: number; readonly action: "kill" | "pause" };
}

const { hitsFile, at } = JSON.parse(process.env["INTERLOCK_TEST_FAILPOINT"] ?? "{}") as Partial<Arming>;
const counts = new Map<string, number>();

/** Stands in the place of `core/failpoint.js` in the build that the crash tests run. */
export function failpoint(name: FailpointName): void {
  const hit = (counts.get(name) ?? 0) + 1;
  counts.set(name, hit);
  if (hitsFile !== undefined) appendFileSync(hitsFile, `${name}\n`);
  if (at === undefined || at.name !== name || at.hit !== hit) return;
  process.kill(process.pid, at.action === "kill" ? "SIGKILL" : "SIGSTOP");
  // A stop may reach another thread first: nothing is done here before it has reached all.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
}
