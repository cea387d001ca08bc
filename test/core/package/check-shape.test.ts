import { expect, test } from "vitest";
import { z } from "zod";
import { checkShape } from "../../../src/core/package/check-shape.js";

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
