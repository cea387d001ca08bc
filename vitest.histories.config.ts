import { defineConfig } from "vitest/config";

/** `npm run histories`: records the histories of the version at hand that the replay gate lacks. Not part of the tests. */
export default defineConfig({
  test: {
    name: "histories",
    include: ["test/replay/record.run.ts"],
    globalSetup: ["test/setup/run-folder.ts", "test/replay/record-setup.ts"],
    pool: "forks",
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
