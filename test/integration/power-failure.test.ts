// @module-tag slow
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";
import { STEP_SIZES } from "../../src/core/step-size.js";
import type { ArmedBuild } from "../crash/armed-build.js";
import { answeredResult, openCrashStage } from "../crash/crash-stage.js";
import { sharedBuild } from "../crash/shared-build.js";

const WATCHING = fileURLToPath(new URL("../crash/watch-syncs.cjs", import.meta.url));
const address = inject("temporalAddress");
const shared = sharedBuild();

/** Workers that write down at each of their reports what a power failure could still take. */
const build: ArmedBuild = {
  ...shared,
  startWorker(environment, arming) {
    const dir = dirname(environment["INTERLOCK_STORE"] ?? "");
    const watched = {
      WATCHED_FOLDER: dir,
      WATCHED_REPORTS: `${dir}-reports`,
      NODE_OPTIONS: `--require ${WATCHING}`,
    };
    return shared.startWorker({ ...environment, ...watched }, arming);
  },
};

test.each(STEP_SIZES)(
  "whatever a worker reports of a run by %s is on disk by then, bytes and names",
  async (steps) => {
    const stage = await openCrashStage({ address, build, steps });
    try {
      const worker = await stage.startVictim();
      const result = await answeredResult(stage, await stage.startRun());
      expect(result.phase).toBe("completed");
      await worker.shutDown();
      const reports = readFileSync(`${stage.dir}-reports`, "utf8").trimEnd().split("\n");
      expect(reports.length).toBeGreaterThan(10);
      expect([...new Set(reports)]).toEqual(["[]"]);
    } finally {
      await stage.close();
    }
  },
);
