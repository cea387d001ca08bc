import { describe, expect, test } from "vitest";
import { editsBetween, withEdits } from "../../../src/store/runs/document-edits.js";

const state = (node: string, steps: readonly string[], updatedAt: string) =>
  `---\nschemaVersion: "1.1"\ncurrentNodeId: "${node}"\nstepsCompleted: ${JSON.stringify(steps)}\nupdatedAt: "${updatedAt}"\n---\n# A walk\n\n${"Long text. ".repeat(200)}\n`;

describe("the edits between two texts", () => {
  test.each([
    ["nothing at all", "", ""],
    ["the same", "a\nb", "a\nb"],
    ["from nothing", "", "a\nb\n"],
    ["to nothing", "a\nb\n", ""],
    ["a line at the end", "a", "a\nb"],
    ["a line less at the end", "a\nb", "a"],
    ["a line in the middle", "a\nc\n", "a\nb\nc\n"],
    ["a line's end", "a\nb\n", "a\nb"],
    ["what repeats itself", "aaaa", "aa"],
    ["what repeats itself, longer", "abab\nx", "ababab\nx"],
    ["line ends of another kind", "a\r\nb\r\n", "a\nb\n"],
    ["half of a pair of surrogates", "a\u{1f600}b", "a\u{1f601}b"],
    ["several lines at once", "a\nb\nc\nd", "A\nb\nC\nD"],
  ])("make the second of the first: %s", (_, before, next) => {
    const edits = editsBetween(before, next);
    expect(withEdits(before, JSON.parse(JSON.stringify(edits)))).toBe(next);
  });

  test("are none where they are the same", () => {
    expect(editsBetween("a\nb", "a\nb")).toEqual([]);
  });

  test("make the second of the first, whatever they are", () => {
    let seed = 7;
    const below = (limit: number) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
    const text = () => Array.from({ length: below(40) }, () => "ab\n\u{1f600}"[below(5)]).join("");
    for (let time = 0; time < 2_000; time += 1) {
      const [before, next] = [text(), text()];
      expect(withEdits(before, editsBetween(before, next))).toBe(next);
    }
  });

  test("of a state document are as long as what a visit has changed", () => {
    const steps = Array.from({ length: 500 }, (_, index) => `node-${index}`);
    const before = state("node-500", steps, "2026-01-02T03:04:05.000Z");
    const next = state("node-501", [...steps, "node-500"], "2026-01-02T03:04:06.000Z");
    const edits = editsBetween(before, next);
    expect(withEdits(before, edits)).toBe(next);
    expect(JSON.stringify(edits).length).toBeLessThan(200);
  });
});
