import { defineConfig } from "vitest/config";

/** `npm run fuzz`: not part of the tests, since it runs for a given time on cases of its own. */
export default defineConfig({
  test: {
    name: "fuzz",
    include: ["test/fuzz/fuzz.run.ts"],
    pool: "forks",
  },
});
