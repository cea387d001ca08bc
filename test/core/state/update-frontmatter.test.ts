import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import { type Frontmatter, parseFrontmatter } from "../../../src/core/state/state-frontmatter.js";
import { recordArtifact, updateFrontmatter } from "../../../src/core/state/update-frontmatter.js";
import type { FrontmatterUpdate } from "../../../src/core/tools/tool-specs.js";
import { state } from "./graphs.js";

const NOW = "2026-03-04T05:06:07.000Z";
const DECISION = { from: "a", to: "b", label: "l" };

function document(changes: JsonObject = {}): Frontmatter {
  const parsed = parseFrontmatter(state(changes));
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.value;
}

describe("updateFrontmatter", () => {
  test.each<[string, JsonObject, FrontmatterUpdate, JsonObject]>([
    [
      "adds steps that are not there yet, in order",
      { stepsCompleted: ["a", "b"] },
      { stepsCompleted: { append: ["c", "a", "d", "c"] } },
      { stepsCompleted: ["a", "b", "c", "d"] },
    ],
    [
      "adds artifacts that are not there yet, in order",
      { artifacts: ["x"] },
      { artifacts: { append: ["y", "x", "y"] } },
      { artifacts: ["x", "y"] },
    ],
    [
      "keeps what stood twice",
      { stepsCompleted: ["a", "a"] },
      { stepsCompleted: { append: ["a"] } },
      { stepsCompleted: ["a", "a"] },
    ],
    [
      "logs a decision again, even an equal one",
      { decisionLog: [DECISION] },
      { decisionLog: { append: [DECISION] } },
      { decisionLog: [DECISION, DECISION] },
    ],
    [
      "leaves out what a decision does not say",
      {},
      { decisionLog: { append: [{ ...DECISION, reason: undefined, decidedAt: "d" }] } },
      { decisionLog: [{ ...DECISION, decidedAt: "d" }] },
    ],
    [
      "merges variables one level deep",
      { variables: { a: { x: 1 }, b: 2 } },
      { variables: { set: { a: { y: 2 }, c: null } } },
      { variables: { a: { y: 2 }, b: 2, c: null } },
    ],
    [
      "takes a variable's name as a name, whatever it is",
      {},
      { variables: { set: { constructor: 1, toString: "x" } } },
      { variables: { constructor: 1, toString: "x" } },
    ],
    [
      "moves, with the id as it was written",
      { currentNodeId: "a" },
      { currentNodeId: { set: " b " } },
      { currentNodeId: " b " },
    ],
    [
      "keeps keys of the document's own",
      { surprise: [1] },
      { currentNodeId: { set: "b" } },
      { surprise: [1], currentNodeId: "b" },
    ],
    [
      "sets the time it is given",
      {},
      { updatedAt: { set: "2020-01-01T00:00:00Z" } },
      { updatedAt: "2020-01-01T00:00:00Z" },
    ],
  ])("%s", (_, before, update, after) => {
    expect(updateFrontmatter(document(before), update, NOW)).toEqual(
      state({ ...before, updatedAt: NOW, ...after }),
    );
  });

  test("keeps the order of keys", () => {
    const next = updateFrontmatter(
      document({ updatedAt: "2020-01-01T00:00:00Z", z: 1 }),
      { currentNodeId: { set: "x" } },
      NOW,
    );
    expect(Object.keys(next)).toEqual(Object.keys(state({ updatedAt: "", z: 1 })));
  });

  test("takes time in proportion to the lists, not to their product", () => {
    const long = (prefix: string) => Array.from({ length: 40_000 }, (_, index) => `${prefix}${index}`);
    const next = updateFrontmatter(
      document({ stepsCompleted: long("a") }),
      { stepsCompleted: { append: long("b") } },
      NOW,
    );
    expect(next["stepsCompleted"]).toHaveLength(80_000);
  });

  test("changes nothing of what it is given, loses no step or artifact, and says the same twice over", () => {
    const names = fc.array(fc.string({ unit: "binary", maxLength: 3 }), { maxLength: 5 });
    const update = fc.record(
      {
        stepsCompleted: fc.record({ append: names }),
        artifacts: fc.record({ append: names }),
        variables: fc.record({
          set: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3, noNullPrototype: true }),
        }),
        currentNodeId: fc.record({ set: fc.string() }),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<FrontmatterUpdate>;
    fc.assert(
      fc.property(names, names, update, (stepsCompleted, artifacts, change) => {
        const before = document({ stepsCompleted, artifacts });
        const text = JSON.stringify([before, change]);
        const next = updateFrontmatter(before, change, NOW);
        expect(JSON.stringify([before, change])).toBe(text);
        expect((next["stepsCompleted"] as readonly string[]).slice(0, stepsCompleted.length)).toEqual(
          stepsCompleted,
        );
        expect((next["artifacts"] as readonly string[]).slice(0, artifacts.length)).toEqual(artifacts);
        expect(updateFrontmatter(next as Frontmatter, change, NOW)).toEqual(next);
      }),
      { numRuns: 400, seed: 5 },
    );
  });
});

describe("recordArtifact", () => {
  test("adds a path once; a second time nothing changes, not even the time", () => {
    const once = recordArtifact(document(), "artifacts/a.md", NOW);
    expect(once).toEqual(state({ artifacts: ["artifacts/a.md"], updatedAt: NOW }));
    expect(recordArtifact(once as Frontmatter, "artifacts/a.md", "2027-01-01T00:00:00Z")).toBe(once);
  });
});
