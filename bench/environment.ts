import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type Spread, spreadOf } from "./statistics.js";

/** What the figures depend on beside the code. */
export interface Environment {
  readonly node: string;
  readonly platform: string;
  readonly cores: number;
  /** Of the last minute, before the bench began. */
  readonly load: number;
  /** What it takes to write and sync a new file of 2 KB where the store lies. */
  readonly syncMs: Spread;
}

export function describeEnvironment(directory: string = tmpdir()): Environment {
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cores: availableParallelism(),
    load: loadavg()[0] ?? 0,
    syncMs: spreadOf(Array.from({ length: 50 }, () => timeSyncedWrite(directory))),
  };
}

function timeSyncedWrite(directory: string): number {
  const path = join(directory, `interlock-bench-sync-${process.pid}`);
  const startedAt = performance.now();
  const file = openSync(path, "w");
  try {
    writeSync(file, Buffer.alloc(2_048));
    fsyncSync(file);
    return performance.now() - startedAt;
  } finally {
    closeSync(file);
    unlinkSync(path);
  }
}
