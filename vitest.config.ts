import { defineConfig } from "vitest/config";

/** Where CI wants the counts as JSON. */
const report = process.env["INTERLOCK_TEST_REPORT"];

export default defineConfig({
  test: {
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/integration/**"],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/integration/global-setup.ts"],
          fileParallelism: false,
          execArgv: ["--min-semi-space-size=64", "--max-semi-space-size=64"], // less time in the garbage collector
          maxConcurrency: 50,
          testTimeout: 90_000,
          hookTimeout: 90_000,
        },
      },
    ],
  },
});
