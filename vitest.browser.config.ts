import { defineConfig } from "vitest/config";
import { AgainReporter } from "./test/setup/again-reporter.js";

const report = process.env["INTERLOCK_TEST_REPORT"];

/** What web pages reach, in a real Chromium; `CHROMIUM_PATH` says where it is, if not at /usr/bin/chromium. */
export default defineConfig({
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    reporters: report ? ["default", new AgainReporter(), ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
    retry: report ? 1 : 0, // as in vitest.config.ts
    globalSetup: ["test/setup/run-folder.ts", "test/integration/global-setup.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
