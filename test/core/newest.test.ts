import { expect, test } from "vitest";
import { newest } from "../../src/core/newest.js";

const lengthOf = (entry: string) => entry.length;

test.each([
  ["no more than count", { count: 2, size: 100 }, ["bb", "c"]],
  ["what fills the size exactly", { count: 9, size: 3 }, ["bb", "c"]],
  ["no entry that would not fit whole", { count: 9, size: 2 }, ["c"]],
  ["all where there is room", { count: 3, size: 6 }, ["aaa", "bb", "c"]],
  ["none where there is no room for the last", { count: 9, size: 0 }, []],
  ["none where none may be", { count: 0, size: 100 }, []],
])("of entries are kept, from the end: %s", (_, most, kept) => {
  expect(newest(["aaa", "bb", "c"], most, lengthOf)).toEqual(kept);
});

test("what comes before an entry that does not fit is not kept, though it would", () => {
  expect(newest(["a", "bbbbb", "c"], { count: 9, size: 3 }, lengthOf)).toEqual(["c"]);
});
