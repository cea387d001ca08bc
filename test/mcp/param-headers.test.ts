import { expect, test } from "vitest";
import { paramHeaders } from "../../src/mcp/param-headers.js";

const inHeader = (name: unknown) => ({ type: "string", "x-mcp-header": name });
const schemaOf = (properties: object) => ({ type: "object", properties });

test.each<[unknown, string | undefined]>([
  ["us-west1", "us-west1"],
  ["a b", "a b"],
  [7, "7"],
  [true, "true"],
  [false, "false"],
  ["", "=?base64??="],
  [" west", "=?base64?IHdlc3Q=?="],
  ["wést", "=?base64?d8Opc3Q=?="],
  ["a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="],
  ["=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="],
  [2 ** 60, undefined],
  [null, undefined],
  [undefined, undefined],
  [{ a: 1 }, undefined],
  [["a"], undefined],
])("an argument that a tool's schema names as a header is said there as well: %j", (value, said) => {
  const headers = said === undefined ? {} : { "Mcp-Param-Region": said };
  expect(paramHeaders(schemaOf({ region: inHeader("Region") }), { region: value })).toEqual(headers);
});

test("so are those of its parts, and no others", () => {
  const schema = schemaOf({
    at: { ...schemaOf({ zone: inHeader("Zone"), plain: { type: "string" } }) },
    odd: inHeader("no header: x"),
    wrong: inHeader(5),
    list: { type: "array", items: inHeader("Item") },
  });
  const args = { at: { zone: "a", plain: "p" }, odd: "o", wrong: "w", list: ["l"], more: "m" };
  expect(paramHeaders(schema, args)).toEqual({ "Mcp-Param-Zone": "a" });
  expect(paramHeaders(schema, { at: "no object" })).toEqual({});
  expect(paramHeaders(undefined, args)).toEqual({});
});
