import { defineConfig } from "vitest/config";

/** `npm run chaos`: not part of the tests, since it runs for a given time on packages of its own. */
export default defineConfig({
  test: {
    name: "chaos",
    include: ["test/chaos/*.run.ts"],
    pool: "forks",
    teardownTimeout: 60_000,
  },
});
