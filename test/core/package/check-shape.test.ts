import { expect, test } from "vitest";
import { z } from "zod";
import { checkShape, checkShapeAnyway } from "../../../src/core/package/check-shape.js";

const entry = z.strictObject({ name: z.string() });
const schema = z.strictObject({ list: z.union([z.array(entry), z.record(z.string(), z.array(entry))]) });
const said = (value: object) =>
  checkShape("a.yaml", schema, value as never).findings.map(({ path, message }) => `${path} ${message}`);

test("of several forms, a mistake is told of the one that is meant, at its place", () => {
  expect(said({ list: [{ name: "a" }, { name: 1 }] })).toEqual([
    "$.list[1].name must be text, not 1: put it in quotes",
  ]);
  expect(said({ list: { a: [{ name: "a", more: 1 }] } })).toEqual([
    "$.list.a[0].more is no key of this format: remove or rename it",
  ]);
  expect(said({ list: 3 })).toEqual(["$.list Invalid input"]);
});

test("a value goes on without what is refused of it, and not where something of it is needed", () => {
  const node = z.strictObject({
    type: z.enum(["subworkflow", "end"]),
    notes: z.array(z.string()).optional(),
  });
  const nodes = z.strictObject({ nodes: z.array(node) });
  const goesOn = (value: object) => {
    const { value: rest, findings } = checkShapeAnyway("a.json", nodes, value as never);
    expect(findings).toEqual(checkShape("a.json", nodes, value as never).findings);
    return rest;
  };
  const whole = { nodes: [{ type: "end", notes: ["a"] }] };
  expect(goesOn(whole)).toEqual(whole);
  const odd = {
    more: 1,
    nodes: [
      { type: "begin", notes: 3, "a.b": { c: 1 } },
      { type: "end", notes: ["a", 1] },
    ],
  };
  expect(goesOn(odd)).toEqual({ nodes: [{ type: "subworkflow" }, { type: "end" }] });
  expect(goesOn({ nodes: [3] })).toBeUndefined();
  expect(goesOn({ nodes: 3 })).toBeUndefined();
});
