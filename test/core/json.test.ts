import { expect, test } from "vitest";
import { fieldOf } from "../../src/core/json.js";

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
