import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { AgainReporter } from "./test/setup/again-reporter.js";
import { LongFirst } from "./test/setup/long-first.js";

/** Where CI wants the counts as JSON. */
const report = process.env["INTERLOCK_TEST_REPORT"];

/**
 * Slow by nature: tests that wait for timeouts of Temporal's most of the time, start servers and workers of their own, run many
 * commands, set up machines, or do a thing a thousand times. `npm test` leaves them to `npm run test:slow`.
 */
const SLOW_TAG = { name: "slow", description: "takes more than six seconds beside four others" };
const INTEGRATION = "test/integration";
/** Files of slow tests alone begin with the tag. */
const SLOW_FILES = readdirSync(INTEGRATION)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `${INTEGRATION}/${name}`)
  .filter((path) => readFileSync(path, "utf8").startsWith(`// @module-tag ${SLOW_TAG.name}\n`));

/** Tests that replace a module, or install what a process has once: each in a process of its own. */
export const ALONE_TESTS = [
  "test/cli/terminal/full-disk.test.ts",
  "test/cli/follow/watch-work.test.ts",
  "test/doctor/check-worker-connection.test.ts",
  "test/embedded/unwritable-store.test.ts",
  "test/instruments/silent-collector.test.ts",
  "test/instruments/unknown-sampler.test.ts",
  "test/store/backup/same-stamp.test.ts",
  "test/store/disk/kernel-lock.test.ts",
  "test/store/disk/line-index.test.ts",
  "test/store/disk/sync-together.test.ts",
  "test/store/power-failure.test.ts",
  "test/store/roots/unread-now.test.ts",
  "test/store/runs/full-disk.test.ts",
  "test/store/runs/run-manager-faults.test.ts",
  "test/tools/bundle/unread-now.test.ts",
  "test/tools/files/modes-of-a-mount.test.ts",
  "test/worker/native-connection.test.ts",
  "test/replay/**/*.test.ts",
];

/** CI runs once more what fails beside real servers and processes on a busy machine, and names it. */
const RETRY = report ? 1 : 0;
const RUN_FOLDER = "test/setup/run-folder.ts";
/** Against a hang only: a busy machine does not come near it. What a test does is bounded by number and size. */
const AGAINST_HANGS = {
  testTimeout: 900_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 60_000 } },
};
const UNIT = {
  globalSetup: [RUN_FOLDER],
  ...AGAINST_HANGS,
  maxWorkers: availableParallelism() + 1, // one of them waits for processes most of the time
};

/** What every file of `test/integration/` needs: a build, and one real Temporal server for each project. */
const ON_SERVER = {
  globalSetup: [RUN_FOLDER, "test/integration/global-setup.ts"],
  retry: RETRY,
  execArgv: ["--min-semi-space-size=64", "--max-semi-space-size=64"], // less time in the garbage collector
  ...AGAINST_HANGS,
};

/** Unit tests leave the machine to the others. */
export default defineConfig({
  test: {
    reporters: report ? ["default", new AgainReporter(), ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
    sequence: { sequencer: LongFirst },
    tags: [SLOW_TAG],
    coverage: {
      include: ["src/core/**/*.ts"],
      reportsDirectory: "coverage",
      reporter: ["text"],
      thresholds: { lines: 100 },
    },
    projects: [
      {
        test: {
          ...UNIT,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/integration/**", "test/browser/**", ...ALONE_TESTS],
          isolate: false, // a process for each worker instead of one for each file
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...UNIT,
          name: "unit-alone",
          include: ALONE_TESTS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...ON_SERVER,
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: SLOW_FILES,
          isolate: false, // what a test imports takes two seconds for each process that imports it
          maxWorkers: 5, // most of their time they wait
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...ON_SERVER,
          globalSetup: [...ON_SERVER.globalSetup, "test/crash/global-setup.ts"],
          name: "slow",
          include: SLOW_FILES,
          isolate: false, // as above
          maxWorkers: 5, // they wait even longer
          maxConcurrency: 50,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
