import { describe, expect, test } from "vitest";
import {
  earlierArtifactsOf,
  earlierEntriesOf,
  saySameOfEarlier,
  surplusOf,
  withEarlier,
} from "../../../src/core/state/earlier-entries.js";
import type { Frontmatter } from "../../../src/core/state/state-frontmatter.js";

const HASH = "0123456789abcdef".repeat(4);
const earlier = (list: string, count: number) => ({
  count,
  file: `@state/logs/${list}.000001-00000${count}.01234567.jsonl`,
  sha256: HASH,
});
const entries = (count: number, chars = 100) =>
  Array.from({ length: count }, (_, index) => `${index}`.padStart(chars - 3, "0"));
const bytesOf = (list: readonly string[]) => Buffer.byteLength(JSON.stringify(list));

describe("what is too much for a document", () => {
  test("nothing of a list of 8 KiB; of a longer one what leaves the newest 4 KiB", () => {
    expect(surplusOf([])).toEqual([]);
    expect(surplusOf(entries(81))).toEqual([]);
    const long = entries(82);
    const surplus = surplusOf(long);
    expect(surplus).toEqual(long.slice(0, surplus.length));
    const kept = bytesOf(long.slice(surplus.length));
    expect(kept).toBeLessThanOrEqual(4 * 1024 + 1);
    expect(kept).toBeGreaterThan(4 * 1024 - 110);
  });

  test("never the newest entry, however long it is", () => {
    expect(surplusOf(["x".repeat(9_000)])).toEqual([]);
    expect(surplusOf(["a", "b", "x".repeat(9_000)])).toEqual(["a", "b"]);
  });

  test("bytes count, not characters", () => {
    expect(surplusOf(["a", "ü".repeat(4_000)])).toEqual([]);
    expect(surplusOf(["a", "☕".repeat(4_000)])).toEqual(["a"]);
  });
});

describe("a document with earlier entries", () => {
  const document: Frontmatter = {
    schemaVersion: "1.1",
    workflowType: "w",
    currentNodeId: "",
    stepsCompleted: [],
    variables: {},
    decisionLog: [{ from: "a", to: "b", label: "x" }],
    artifacts: ["one", "two", "three"],
  };

  test("holds the rest, and says how many there were", () => {
    const moved = withEarlier(document, { artifacts: earlier("artifacts", 2) });
    expect(moved.artifacts).toEqual(["three"]);
    expect(moved.decisionLog).toEqual(document.decisionLog);
    expect(earlierArtifactsOf(moved)).toEqual({ earlierArtifacts: 2 });
    expect(earlierArtifactsOf(document)).toEqual({});
    const more = { ...moved, artifacts: ["three", "four"] };
    const again = withEarlier(more, { artifacts: earlier("artifacts", 3) });
    expect(again.artifacts).toEqual(["four"]);
  });

  test.each([
    undefined,
    null,
    "x",
    [],
    7,
    { artifacts: "x" },
    { artifacts: { count: 2, file: "../x", sha256: HASH } },
  ])("that says it as %j says nothing", (said) => {
    expect(earlierEntriesOf(said === undefined ? {} : { earlierEntries: said })).toEqual({});
  });

  test("says the same in whatever order, and not with another number", () => {
    const { count, file, sha256 } = earlier("artifacts", 2);
    const one = { earlierEntries: { artifacts: { count, file, sha256 } } };
    expect(saySameOfEarlier(one, { earlierEntries: { artifacts: { sha256, file, count } } })).toBe(true);
    expect(saySameOfEarlier(one, { earlierEntries: { artifacts: { sha256, file, count: 3 } } })).toBe(false);
    expect(saySameOfEarlier(one, {})).toBe(false);
    expect(saySameOfEarlier({}, one)).toBe(false);
  });
});
