import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openProperties } from "./properties.js";
import type { Property } from "./property.js";

/** A case that the fuzzer found, or one worth keeping; `found` says what it showed. */
interface Seed {
  readonly property: string;
  readonly found: string;
  readonly case: unknown;
}

const seeds = JSON.parse(readFileSync(new URL("seeds.json", import.meta.url), "utf8")) as readonly Seed[];

describe("what the fuzzer found holds now", () => {
  let properties: readonly Property[] = [];
  beforeAll(() => {
    properties = openProperties();
  });
  afterAll(async () => {
    for (const property of properties) await property.close();
  });

  test.each(seeds)("$property: $found", async (seed) => {
    const property = properties.find(({ name }) => name === seed.property);
    await expect(
      property?.check(seed.case) ?? Promise.reject(new Error("no such property")),
    ).resolves.toBeUndefined();
  });
});
