import { describe, expect, test } from "vitest";
import { plainParameters } from "../../src/model/plain-schema.js";

const MANY = 2_400;
const properties = (part: (nth: number) => object) =>
  Object.fromEntries(Array.from({ length: MANY }, (_, nth) => [`p${nth}`, part(nth)]));
const referring = (shared: object) => ({
  type: "object",
  $defs: { shared },
  properties: properties(() => ({ $ref: "#/$defs/shared" })),
});
const MOST_CHARS = 8 * 1024 * 1024;

test.each<[string, object]>([
  ["its description", { type: "string", description: "x".repeat(20_000) }],
  ["its choices", { type: "string", enum: Array.from({ length: 10_000 }, (_, nth) => `v${nth}`) }],
  [
    "its types",
    { type: Array(5_000).fill("string"), enum: Array.from({ length: 5_000 }, (_, nth) => `v${nth}`) },
  ],
])("what many properties refer to does not make a request of any length: %s", (_, shared) => {
  const plain = plainParameters(referring(shared));
  expect(JSON.stringify(plain).length).toBeLessThan(MOST_CHARS);
  expect(Object.keys(plain["properties"] as object)).toHaveLength(MANY);
});

test("a schema in thousands of parts is put together in one go", () => {
  const parts = Array.from({ length: MANY }, (_, nth) => ({
    type: "object",
    properties: { [`p${nth}`]: { type: "string" } },
    required: [`p${nth}`],
  }));
  const plain = plainParameters({ type: "object", allOf: parts });
  expect(Object.keys(plain["properties"] as object)).toHaveLength(parts.length);
  expect(plain["required"]).toHaveLength(parts.length);
});

test("of what two parts say, the first one's words stand, and the duties of both", () => {
  const part = (description: string, required: string) => ({
    type: "object",
    description,
    properties: { name: { type: "string", description } },
    required: [required],
  });
  const schema = {
    allOf: [
      part("one", "name"),
      part("other", "name"),
      { type: "object", properties: { more: {} }, required: ["more"] },
    ],
  };
  expect(plainParameters(schema)).toMatchObject({
    description: "one",
    properties: { name: { type: "string", description: "one" } },
    required: ["name", "more"],
  });
});

describe("a schema that is deeper than Meta, Moonshot and Gemini take", () => {
  /** How many levels are below a schema, each of their members one. */
  const levelsOf = (schema: unknown): number => {
    if (typeof schema !== "object" || schema === null) return 0;
    const { properties = {}, items, anyOf = [] } = schema as Record<string, object>;
    const parts = [
      ...Object.values(properties),
      ...Object.values(anyOf),
      ...(items === undefined ? [] : [items]),
    ];
    return Math.max(0, ...parts.map((part) => levelsOf(part) + 1));
  };
  const nested = (levels: number, leaf: object, around: (part: object) => object): object =>
    levels === 0 ? leaf : around(nested(levels - 1, leaf, around));
  const inObject = (part: object) => ({
    type: "object",
    properties: { a: part, b: { type: "string" } },
    required: ["a", "b"],
  });
  const inList = (part: object) => ({ type: "array", items: part });
  const inOneOf = (part: object) => ({ anyOf: [{ type: "string" }, inList(part)] });

  test.each<[string, object]>([
    ["objects", nested(12, { type: "string" }, inObject)],
    ["lists in objects", inObject(nested(12, { type: "string" }, inList))],
    ["alternatives", inObject(nested(6, { type: "string" }, inOneOf))],
    ["anything", nested(9, {}, inObject)],
    ["objects and lists", nested(6, { type: "string" }, (part) => inObject(inList(part)))],
  ])("is cut at what they take: %s", (_, schema) => {
    const plain = plainParameters(schema as Record<string, unknown>);
    expect(levelsOf(plain)).toBeGreaterThan(0);
    expect(levelsOf(plain)).toBeLessThanOrEqual(9);
    expect(plain["type"]).toBe("object");
  });

  test("loses the properties that are too deep, and no others", () => {
    const list = { type: "array", items: { type: "string" } };
    const deep = {
      type: "object",
      properties: { text: { type: "string" }, list },
      required: ["list", "text"],
    };
    const kept = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
    expect(plainParameters(nested(8, deep, inObject) as Record<string, unknown>)).toEqual(
      nested(8, kept, inObject),
    );
    // Gemini refuses a list of properties that is empty.
    const { text: _, ...lists } = deep.properties;
    expect(
      plainParameters(nested(8, { ...deep, properties: lists }, inObject) as Record<string, unknown>),
    ).toEqual(nested(8, { type: "object" }, inObject));
    const taken = nested(9, { type: "string" }, inObject);
    expect(plainParameters(taken as Record<string, unknown>)).toEqual(taken);
  });
});
