import * as fc from "fast-check";
import { expect, test } from "vitest";
import { openProperties } from "./properties.js";
import type { Property } from "./property.js";

/** Cases of one batch: every property gets one, then the next seed. */
const BATCH = 40;

const seconds = Number(process.env["INTERLOCK_FUZZ_SECONDS"] ?? 60);
const firstSeed = Number(process.env["INTERLOCK_FUZZ_SEED"] ?? Date.now() % 1_000_000_000);
const only = process.env["INTERLOCK_FUZZ_PROPERTY"];

async function runBatch(property: Property, seed: number, timeLeftMs: number): Promise<string | undefined> {
  const details = await fc.check(fc.asyncProperty(property.cases, property.check), {
    seed,
    numRuns: BATCH,
    interruptAfterTimeLimit: timeLeftMs,
    markInterruptAsFailure: false,
  });
  if (!details.failed || details.counterexample === null) return undefined;
  const [one] = details.counterexample;
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : "";
  return [
    `"${property.name}" fails with seed ${seed} (npm run fuzz -- --seed ${seed} --property "${property.name}")`,
    reason,
    "its smallest case, as a line for test/fuzz/seeds.json:",
    JSON.stringify({ property: property.name, seed, found: "…", case: one }),
  ].join("\n");
}

test("no property fails", { timeout: (seconds + 300) * 1000 }, async () => {
  const properties = openProperties().filter((property) => only === undefined || property.name === only);
  expect(properties).not.toHaveLength(0);
  const end = performance.now() + seconds * 1000;
  const counts = new Map(properties.map((property) => [property.name, 0]));
  const failures: string[] = [];
  for (let seed = firstSeed; performance.now() < end && failures.length === 0; seed += 1) {
    for (const property of properties) {
      const timeLeftMs = end - performance.now();
      if (timeLeftMs <= 0) break;
      const failure = await runBatch(property, seed, timeLeftMs);
      counts.set(property.name, (counts.get(property.name) ?? 0) + BATCH);
      if (failure !== undefined) failures.push(failure);
    }
  }
  for (const property of properties) await property.close();
  const summary = [...counts].map(([name, cases]) => `${name} ${cases}`).join(", ");
  process.stdout.write(`seeds from ${firstSeed}; cases: ${summary}\n`);
  if (failures.length > 0) process.stdout.write(`\n${failures.join("\n\n")}\n\n`);
  expect(failures).toEqual([]);
});
