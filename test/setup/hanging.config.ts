import { defineConfig } from "vitest/config";

/** A run of tests on a server that never ends: `aborted-run.test.ts` starts it and ends it. */
export default defineConfig({
  test: {
    include: ["test/setup/hanging.run.ts"],
    globalSetup: ["test/setup/run-folder.ts", "test/integration/global-setup.ts"],
    pool: "forks",
    testTimeout: 0,
  },
});
