import { expect, test } from "vitest";
import { fieldOf, isRecord, scalarText, type JsonValue } from "../../src/core/json.js";

test.each([
  ["of an object", { a: 1 }, "a", 1],
  ["called as what every object inherits", JSON.parse('{ "__proto__": 1 }'), "__proto__", 1],
])("a field %s is read", (_, value: unknown, name, found) => {
  expect(fieldOf(value, name)).toBe(found);
});

test.each([
  ["of what every object inherits", {}, "constructor"],
  ["of a list, by an index", ["a"], "0"],
  ["of a list, by its length", ["a"], "length"],
  ["of a text", "abc", "length"],
  ["of null", null, "a"],
  ["of nothing", undefined, "a"],
])("no field %s is read", (_, value: unknown, name) => {
  expect(fieldOf(value, name)).toBeUndefined();
});

test("a record is an object that is no list, and a scalar has a text", () => {
  const values = [{ a: 1 }, {}, [1], null, undefined, "text", 0, false];
  expect(values.map(isRecord)).toEqual([true, true, false, false, false, false, false, false]);
  const texts = [undefined, undefined, undefined, undefined, undefined, "text", "0", "false"];
  expect(values.map((value) => scalarText(value as JsonValue | undefined))).toEqual(texts);
});
