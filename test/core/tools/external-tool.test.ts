import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ExternalToolSpec,
  checkExternalTool,
  externalFunctionTool,
  wireNames,
} from "../../../src/core/tools/external-tool.js";
import { isPrintable, printableText } from "../../../src/core/printable.js";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const spec = (changes: Partial<ExternalToolSpec>): ExternalToolSpec => ({
  name: "mcp.s.t",
  description: "Does it.",
  parameters: { type: "object" },
  effect: "once",
  timeoutMs: 1_000,
  ...changes,
});

describe("a definition from outside", () => {
  test("is offered as it is where nothing is wrong", () => {
    const parameters = {
      type: "object",
      properties: { a: { type: "string", enum: ["x", null] } },
      required: ["a"],
    };
    const checked = checkExternalTool(spec({ parameters }));
    expect(checked).toEqual({ ok: true, value: spec({ parameters }) });
    expect(externalFunctionTool("mcp_s_t", spec({ parameters }))).toEqual({
      type: "function",
      function: { name: "mcp_s_t", description: "Does it.", parameters },
    });
  });

  test("is shown with its texts printable and cut, wherever they stand", () => {
    const text = `a\u202Eb\n${"x".repeat(5_000)}`;
    const checked = checkExternalTool(
      spec({
        description: text,
        parameters: { type: "object", properties: { a: { title: text, anyOf: [{ description: text }] } } },
      }),
    );
    const shown = JSON.stringify(checked);
    expect(checked.ok).toBe(true);
    expect(shown.match(/a\\\\u\{202e\}b\\nx/g)).toHaveLength(3);
    expect(shown.length).toBeLessThan(6_500);
  });

  const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });
  test.each([
    ["a name with a space", { name: "mcp.s.a b" }, "its name"],
    ["a name that hides something", { name: "mcp.s.a\u200Bb" }, "its name"],
    ["no name", { name: "" }, "its name"],
    ["a long name", { name: "x".repeat(101) }, "its name"],
    ["a schema of something else", { parameters: { type: "array" } }, "of an object"],
    ["a schema without a type", { parameters: {} }, "of an object"],
    ["a deep schema", { parameters: { type: "object", ...deep(30) } }, "levels deep"],
    [
      "a wide schema",
      { parameters: { type: "object", required: Array.from({ length: 1_001 }, () => "a") } },
      "values",
    ],
    ["a long schema", { parameters: { type: "object", description: "x".repeat(17_000) } }, "bytes"],
    ["a key __proto__", { parameters: JSON.parse('{"type":"object","__proto__":{}}') }, "__proto__"],
    [
      "a reference to another document",
      { parameters: { type: "object", $ref: "//else.invalid/a" } },
      "another document",
    ],
    ["a hidden key", { parameters: { type: "object", properties: { "a\u202E": {} } } }, "not printable"],
    [
      "a hidden value",
      { parameters: { type: "object", properties: { a: { enum: ["\u200B"] } } } },
      "not printable",
    ],
  ])("with %s is refused", (_, changes, why) => {
    const checked = checkExternalTool(spec(changes));
    expect(checked).toMatchObject({
      ok: false,
      error: { code: "E_SCHEMA_VALIDATION", message: expect.stringContaining(why) },
    });
    expect(!checked.ok && isPrintable(checked.error.message)).toBe(true);
  });

  test("may have values and examples of several lines, with tabs", () => {
    const parameters = {
      type: "object",
      properties: { mark: { type: "string", default: "\n", enum: ["\n", "\r\n", "\t"] } },
      examples: [{ query: "SELECT 1\nFROM tea" }],
    };
    expect(checkExternalTool(spec({ parameters }))).toEqual({ ok: true, value: spec({ parameters }) });
  });

  test("may refer to itself", () => {
    expect(checkExternalTool(spec({ parameters: { type: "object", $ref: "#/$defs/a" } })).ok).toBe(true);
  });
});

describe("the names that providers are told", () => {
  test("have underscores for what no provider takes", () => {
    expect(wireNames(["mcp.files.read_text", "a-b/c:d"], hashOf)).toEqual(["mcp_files_read_text", "a-b_c_d"]);
  });

  test("that would be alike or too long get a part of their hash, each the same in any company", () => {
    const [dotted, plain, long] = wireNames(["a.b", "a_b", "x".repeat(80)], hashOf);
    expect(dotted).toBe(`a_b_${hashOf("a.b").slice(0, 8)}`);
    expect(plain).toBe(`a_b_${hashOf("a_b").slice(0, 8)}`);
    expect(long).toBe(`${"x".repeat(55)}_${hashOf("x".repeat(80)).slice(0, 8)}`);
  });

  test("are not taken by a tool that is called as the spelling of another one", () => {
    const given = ["mcp.a.b.c", "mcp.a.b_c"];
    const [dotted = "", plain = ""] = wireNames(given, hashOf);
    const wires = wireNames([...given, `mcp.${dotted.slice(4)}`, `mcp.${plain.slice(4)}`], hashOf);
    expect(new Set(wires).size).toBe(4);
    expect(wires.every((wire) => /^[\w-]{1,64}$/.test(wire))).toBe(true);
  });

  test("are of the right shape, and no two are alike", () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[\w./:-]{1,100}$/), { maxLength: 30 });
    fc.assert(
      fc.property(names, (given) => {
        const wires = wireNames(given, hashOf);
        expect(wires.every((wire) => /^[\w-]{1,64}$/.test(wire))).toBe(true);
        expect(new Set(wires).size).toBe(given.length);
      }),
    );
  });
});

test("a text keeps its lines and tabs, and hides nothing", () => {
  expect(printableText("a\tb\r\nc\nd\re\u202Ef\u001B[0m")).toBe("a\tb\r\nc\nd\\u{d}e\\u{202e}f\\u{1b}[0m");
});
