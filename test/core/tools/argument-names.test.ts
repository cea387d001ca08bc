import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withOwnNames, withSpelledNames } from "../../../src/core/tools/argument-names.js";
import type { JsonObject } from "../../../src/core/json.js";

const text = (description: string) => ({ type: "string", description });

describe("names of arguments that Claude refuses a whole request for", () => {
  const calls: JsonObject = {
    type: "object",
    properties: {
      "from<": text("Before that day."),
      "from>": text("After that day."),
      "ids[]": { type: "array" },
      $filter: true,
      to: text("Whom."),
      "a.b-c_1": {},
    },
    required: ["ids[]", "to"],
  };

  test("are spelled so that it takes them, each by itself, and their own names are said", () => {
    expect(withSpelledNames(calls)).toEqual({
      type: "object",
      properties: {
        from_: text('"from<": Before that day.'),
        from__2: text('"from>": After that day.'),
        ids__: { type: "array", description: '"ids[]"' },
        _filter: true,
        to: text("Whom."),
        "a.b-c_1": {},
      },
      required: ["ids__", "to"],
    });
  });

  test("reach the tool as it knows them, in either spelling", () => {
    expect(
      withOwnNames({ from_: "1", from__2: "2", ids__: [{ from_: 3 }], to: "x", other: 1 }, calls),
    ).toEqual({
      "from<": "1",
      "from>": "2",
      "ids[]": [{ from_: 3 }],
      to: "x",
      other: 1,
    });
    expect(withOwnNames({ "from<": "1", from_: "2" }, calls)).toEqual({ "from<": "1", from_: "2" });
  });

  test("of alternatives are spelled there", () => {
    const schema = {
      type: "object",
      properties: { "a b": {} },
      anyOf: [{ properties: { "a b": {}, "c d": {} }, required: ["c d"] }, true],
    };
    expect(withSpelledNames(schema)).toEqual({
      type: "object",
      properties: { a_b: { description: '"a b"' } },
      anyOf: [
        { properties: { a_b: { description: '"a b"' }, c_d: { description: '"c d"' } }, required: ["c_d"] },
        true,
      ],
    });
    expect(withOwnNames({ c_d: 1 }, schema)).toEqual({ "c d": 1 });
  });

  test("take no other's place", () => {
    const schema = { type: "object", properties: { a_b: {}, "a b": {}, "a-b": {}, a_b_2: {}, "": {} } };
    expect(Object.keys(Object(withSpelledNames(schema)["properties"]) as object)).toEqual([
      "a_b",
      "a_b_3",
      "a-b",
      "a_b_2",
      "_",
    ]);
    expect(withOwnNames({ a_b: 1, a_b_3: 2, _: 3 }, schema)).toEqual({ a_b: 1, "a b": 2, "": 3 });
  });

  test("are all spelled, and none is lost, whatever they are", () => {
    const name = fc.oneof(fc.string({ maxLength: 5 }), fc.string({ minLength: 60, maxLength: 70 }));
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 12 }), (names) => {
        const schema = { type: "object", properties: Object.fromEntries(names.map((one) => [one, {}])) };
        const spelled = Object.keys(Object(withSpelledNames(schema)["properties"]) as object);
        expect(spelled.filter((one) => !/^[\w.-]{1,64}$/.test(one))).toEqual([]);
        const said = Object.fromEntries(spelled.map((one) => [one, 1]));
        expect(new Set(Object.keys(withOwnNames(said, schema)))).toEqual(new Set(names));
      }),
    );
  });

  test("leave a schema without them as it is", () => {
    const schema = { type: "object", properties: { a: {} } };
    expect(withSpelledNames(schema)).toBe(schema);
    expect(withSpelledNames({ type: "object", properties: [] })).toEqual({ type: "object", properties: [] });
  });
});
