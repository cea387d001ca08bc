import { expect, test } from "vitest";
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
