import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { MUTANTS } from "./mutants.js";

test.each(MUTANTS.flatMap(({ name, patches }) => patches.map((patch) => [name, patch] as const)))(
  "what the mutant %s changes stands in the code as it is",
  (_, { file, from }) => {
    const source = fileURLToPath(new URL(`../../src/${file}`, import.meta.url));
    expect(readFileSync(source, "utf8")).toContain(from);
  },
);
