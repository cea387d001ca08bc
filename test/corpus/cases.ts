import assert from "node:assert/strict";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Call, type Seen, World, codeOf } from "./world.js";

export interface Case extends Call {
  readonly name: string;
  /** `ok`, or the code; several where the contract leaves the choice. */
  readonly expect: string | readonly string[];
  /** What the call may change; nothing unless said. */
  readonly changes?: readonly string[];
  /** What the result holds, among other things. */
  readonly result?: object;
  /** The state document that the case begins with. */
  readonly state?: (world: World) => string | Uint8Array;
  readonly arrange?: (world: World) => void;
  readonly verify?: (seen: Seen, world: World) => void;
}

/** What a table's own checks use: they run inside the tests that the table makes. */
export const that = expect;

/** A world for the cases of one file. */
export function sharedWorld(files?: Record<string, unknown>): () => World {
  let world: World | undefined;
  beforeAll(async () => {
    world = await World.open(files);
  });
  beforeEach(() => world?.reset());
  afterAll(async () => {
    await world?.checkChain();
    world?.close();
  });
  return () => {
    assert.ok(world !== undefined);
    return world;
  };
}

export function runCases(world: () => World, cases: readonly Case[]): void {
  test.each(cases)("$name", async (one) => {
    expect.hasAssertions();
    await runCase(world(), one);
  });
}

async function runCase(world: World, one: Case): Promise<void> {
  if (one.state !== undefined) world.reset(one.state(world));
  if (one.arrange !== undefined) {
    one.arrange(world);
    world.arranged();
  }
  const seen = await world.call(one);
  const allowed = typeof one.expect === "string" ? [one.expect] : one.expect;
  that(allowed, JSON.stringify(seen.result).slice(0, 600)).toContain(codeOf(seen.result));
  that(seen.changes).toEqual([...(one.changes ?? [])].sort());
  if (one.result !== undefined) that(seen.result).toMatchObject(one.result);
  one.verify?.(seen, world);
}
