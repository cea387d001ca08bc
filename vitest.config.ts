import { defineConfig } from "vitest/config";
import { AgainReporter } from "./test/setup/again-reporter.js";

/** Where CI wants the counts as JSON. */
const report = process.env["INTERLOCK_TEST_REPORT"];

/** Slow by nature: they wait for timeouts of Temporal's most of the time, start servers of their own, set up machines, or do a thing a thousand times. */
const SLOW_TESTS = [
  "bundle-crash",
  "cancel-crash",
  "closed-run",
  "compaction-crash",
  "crash-matrix",
  "embedded-server",
  "execution-fence",
  "fallback-crash",
  "few-descriptors",
  "hosts",
  "long-run",
  "notice-crash",
  "prune-crash",
  "run-models",
  "sealed-histories",
  "stop-while-starting",
  "streamed-crash",
  "subworkflow-crash",
  "tls",
  "tool-crash",
  "two-workers",
  "versions",
].map((name) => `test/integration/${name}.test.ts`);

/** Tests that replace a module, or install what a process has once: each in a process of its own. */
export const ALONE_TESTS = [
  "test/cli/watch-work.test.ts",
  "test/instruments/silent-collector.test.ts",
  "test/store/disk/line-index.test.ts",
  "test/store/runs/run-manager-faults.test.ts",
  "test/replay/**/*.test.ts",
];

/** CI runs once more what fails beside real servers and processes on a busy machine, and names it. */
const RETRY = report ? 1 : 0;
const RUN_FOLDER = "test/setup/run-folder.ts";
/** Against a hang only: a busy machine does not come near it. What a test does is bounded by number and size. */
const AGAINST_HANGS = { testTimeout: 300_000, hookTimeout: 300_000 };
const UNIT = { globalSetup: [RUN_FOLDER], ...AGAINST_HANGS };

/** What every file of `test/integration/` needs: a build, and one real Temporal server for each project. */
const ON_SERVER = {
  globalSetup: [RUN_FOLDER, "test/integration/global-setup.ts"],
  retry: RETRY,
  execArgv: ["--min-semi-space-size=64", "--max-semi-space-size=64"], // less time in the garbage collector
  ...AGAINST_HANGS,
};

/** The projects run one after the other: each leaves the machine to the next. */
export default defineConfig({
  test: {
    reporters: report ? ["default", new AgainReporter(), ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
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
          isolate: false, // a process for each core instead of one for each file
          maxWorkers: "100%",
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...UNIT,
          name: "unit-alone",
          include: ALONE_TESTS,
          maxWorkers: "100%",
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...ON_SERVER,
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: SLOW_TESTS,
          isolate: false, // what a test imports takes two seconds for each process that imports it
          maxWorkers: 4, // most of their time they wait
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...ON_SERVER,
          name: "slow",
          include: SLOW_TESTS,
          maxWorkers: 4, // they wait even longer
          maxConcurrency: 50,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
