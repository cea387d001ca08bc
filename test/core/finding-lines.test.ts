import { expect, test } from "vitest";
import { linesInFrontMatter } from "../../src/core/documents/front-matter-lines.js";
import { linesInJson } from "../../src/core/json-text.js";
import { errorFinding, jsonPath, placeOf, whereOf } from "../../src/core/package/findings.js";

test("a place in JSON has the line of its key or item, or of what is around it, up to a fault", () => {
  const text = '{\n "a": [\n  1,\n  { "b": 2 }\n ],\n "c.d": {\n  "e": 1 }, !\n "f": 1 }';
  const places = [["a", "1", "b"], ["a", "0"], ["a", "7"], ["c.d", "e"], ["f"], []];
  expect(linesInJson(text, places)).toEqual([4, 3, 2, 7, undefined, undefined]);
});

test("a place in front matter has the line of its key or item, or of what is around it", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const text = "\uFEFF---\r\na: 1\r\nlist:\r\n  - x\r\n  - { b: 2 }\r\n---\r\nc: 3\r\n";
  const places = [["a"], ["list", "1", "b"], ["list", "9"], ["a", "deeper"], ["c"], []];
  expect(linesInFrontMatter(bytes(text), places)).toEqual([2, 5, 3, 2, undefined, undefined]);
  expect(linesInFrontMatter(bytes("---\na: [\n---\n"), [["a"]])).toEqual([undefined]);
});

test("a place that was written as a JSON path is read back", () => {
  for (const place of [["nodes", 2, "agentId"], ["a b", 'c"]d', "!"], []]) {
    expect(placeOf(jsonPath(place))).toEqual(place.map(String));
  }
  expect(placeOf(String.raw`$["\x"]`)).toEqual([String.raw`"\x"`]);
});

test("where a finding is says the line, where there is one", () => {
  const finding = errorFinding("a.json", "$", "is wrong");
  expect(whereOf(finding)).toBe("a.json");
  expect(whereOf({ ...finding, line: 3 })).toBe("a.json:3");
});
