import { defineConfig } from "vitest/config";

/** Where CI wants the counts as JSON. */
const report = process.env["INTERLOCK_TEST_REPORT"];

const CRASH_TESTS = [
  "test/integration/crash-matrix.test.ts",
  "test/integration/bundle-crash.test.ts",
  "test/integration/execution-fence.test.ts",
];

/** What every file of `test/integration/` needs: a build, and one real Temporal server for each project. */
const ON_SERVER = {
  globalSetup: ["test/integration/global-setup.ts"],
  execArgv: ["--min-semi-space-size=64", "--max-semi-space-size=64"], // less time in the garbage collector
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/** The projects run one after the other: each leaves the machine to the next. */
export default defineConfig({
  test: {
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/integration/**", "test/browser/**"],
          maxWorkers: "100%",
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...ON_SERVER,
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: CRASH_TESTS,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...ON_SERVER,
          name: "crash",
          include: CRASH_TESTS,
          fileParallelism: false,
          maxConcurrency: 50,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
