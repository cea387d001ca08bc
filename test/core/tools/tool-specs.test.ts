import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nestingDepth } from "../../../src/core/tools/tool-arguments.js";
import {
  FILE_FUNCTION_TOOLS,
  EDIT_FUNCTION_TOOL,
  FILE_TOOLS,
  canonicalToolName,
  parseToolCall,
  wireToolName,
} from "../../../src/core/tools/tool-specs.js";

const HASH = "a".repeat(64);
const patch = (update: unknown, extra: object = {}) => ({
  path: "@state/workflow.md",
  patch: { operation: "updateFrontmatter", update, ...extra },
});

function parse(name: string, args: unknown) {
  const result = parseToolCall(name, typeof args === "string" ? args : JSON.stringify(args));
  return result.ok ? result.value : result.error;
}

describe("tool names", () => {
  test.each([
    ["fs.list", "fs.list"],
    ["fs_list", "fs.list"],
    ["fs.apply_patch", "fs.apply_patch"],
    ["fs_apply_patch", "fs.apply_patch"],
  ])("%s is understood", (name, canonical) => {
    expect(canonicalToolName(name)).toBe(canonical);
  });

  test.each([
    "",
    "fs",
    "fs.List",
    " fs.list",
    "fs-list",
    "fs.apply.patch",
    "fs_apply.patch",
    "fs.exec",
    "constructor",
    "__proto__",
  ])("%j is no tool", (name) => {
    expect(canonicalToolName(name)).toBeUndefined();
    expect(parse(name, {})).toEqual({
      code: "TOOL_NOT_AVAILABLE",
      message:
        "There is no such tool. Available: fs.list, fs.read, fs.search, fs.write, fs.apply_patch, and the others that you were offered.",
    });
  });

  test("every wire name is one that all providers take, and leads back", () => {
    for (const tool of FILE_TOOLS) {
      expect(wireToolName(tool)).toMatch(/^[A-Za-z0-9_-]+$/u);
      expect(canonicalToolName(wireToolName(tool))).toBe(tool);
    }
  });
});

test.each(["@state/workflow.md", "@state/./workflow.md", "@state//workflow.md"])(
  "%s is never edited",
  (path) => {
    expect(parse("fs_edit", { path, oldText: "a", newText: "b" })).toMatchObject({
      code: "TOOL_ARGS_INVALID",
      message: expect.stringContaining("never edited"),
    });
  },
);

test.each([
  [{ path: "@project/a", oldText: "", newText: "b" }],
  [{ path: "@project/a", oldText: "a" }],
  [{ path: "@project/a", oldText: "a", newText: "\uD800" }],
  [{ path: "@project/a", oldText: "a", newText: "b", replaceAll: "yes" }],
])("fs.edit does not take %j", (args) => {
  expect(parse("fs.edit", args)).toMatchObject({ code: "TOOL_ARGS_INVALID" });
});

test("fs.edit is offered under a name that every provider takes", () => {
  expect(EDIT_FUNCTION_TOOL.function.name).toBe("fs_edit");
  expect(parse("fs_edit", { path: "@project/a", oldText: "a", newText: "" })).toMatchObject({
    tool: "fs.edit",
  });
});

test.each(["@state/workflow.md", "@state/./workflow.md", "@state//workflow.md"])(
  "%s is never appended to",
  (path) => {
    expect(parse("fs.write", { path, content: "x", append: true })).toMatchObject({
      code: "TOOL_ARGS_INVALID",
    });
    expect(parse("fs.write", { path, content: "x", append: false })).toMatchObject({ tool: "fs.write" });
    expect(parse("fs.write", { path: "@project/x", content: "x", append: true })).toMatchObject({
      tool: "fs.write",
    });
  },
);

describe("the function tools that a model is offered", () => {
  test("have a name, a description and a closed JSON schema each", () => {
    expect(FILE_FUNCTION_TOOLS).toHaveLength(5);
    for (const { type, function: tool } of FILE_FUNCTION_TOOLS) {
      expect([type, tool.parameters["type"], tool.parameters["additionalProperties"]]).toEqual([
        "function",
        "object",
        false,
      ]);
      expect(tool.description.length).toBeGreaterThan(20);
      expect(tool.parameters).not.toHaveProperty("$schema");
    }
  });

  test.each([
    ["fs_list", ["path"], ["path"]],
    ["fs_read", ["path", "startLine", "endLine"], ["path"]],
    ["fs_search", ["path", "pattern", "before", "after", "maxMatches"], ["path", "pattern"]],
    ["fs_write", ["path", "content", "ifMatchSha256", "append"], ["path", "content"]],
    ["fs_apply_patch", ["path", "patch"], ["path", "patch"]],
  ])("%s takes %j", (name, properties, required) => {
    const tool = FILE_FUNCTION_TOOLS.find((candidate) => candidate.function.name === name);
    const parameters = tool?.function.parameters as { properties: object; required: readonly string[] };
    expect(Object.keys(parameters.properties)).toEqual(properties);
    expect(parameters.required).toEqual(required);
  });
});

describe("arguments of the right shape", () => {
  test.each([
    ["fs.list", { path: "@project" }],
    ["fs_read", { path: "@pkg/a", startLine: 1, endLine: 2 }],
    ["fs.search", { path: "@project", pattern: "x", before: 0, after: 20, maxMatches: 500 }],
    ["fs.write", { path: "@project/a", content: "", ifMatchSha256: HASH }],
    ["fs.write", { path: "anything at all, judged later", content: "ü" }],
    ["fs.apply_patch", patch({ stepsCompleted: { append: ["a"] } })],
    ["fs.apply_patch", patch({ artifacts: { append: [] }, decisionLog: { append: [] } })],
    [
      "fs.apply_patch",
      patch({ decisionLog: { append: [{ from: "a", to: "b", label: "c", reason: "d", decidedAt: "e" }] } }),
    ],
    [
      "fs.apply_patch",
      patch({ variables: { set: { constructor: { a: [null, 1, true, "x"] } } } }, { ifMatchSha256: HASH }),
    ],
    ["fs.apply_patch", patch({ currentNodeId: { set: "" }, updatedAt: { set: "whenever" } })],
  ])("%s %j", (name, args) => {
    expect(parse(name, args)).toEqual({ tool: canonicalToolName(name), arguments: args });
  });

  test("a hash is taken in either case, and any text may be one: it will only not match", () => {
    expect(parse("fs.write", { path: "p", content: "", ifMatchSha256: HASH.toUpperCase() })).toMatchObject({
      arguments: { ifMatchSha256: HASH },
    });
    expect(parse("fs.write", { path: "p", content: "", ifMatchSha256: "not a hash" })).toMatchObject({
      arguments: { ifMatchSha256: "not a hash" },
    });
  });
});

describe("arguments that are not JSON are TOOL_ARGS_INVALID_JSON", () => {
  test.each([
    "",
    " ",
    "{",
    "{}}",
    "{'path':'@project'}",
    '{"path":"@project",}',
    '{"path":"a\nb"}',
    "undefined",
    "NaN",
    "{path:1}",
    "\ufeff{}",
  ])("%j", (text) => {
    expect(parse("fs.list", text)).toEqual({
      code: "TOOL_ARGS_INVALID_JSON",
      message: "The arguments of fs.list are not valid JSON. Send one JSON object.",
    });
  });
});

describe("arguments of another shape are TOOL_ARGS_INVALID with what was expected", () => {
  test.each([
    ["fs.list", "[]", "(root): Invalid input: expected object, received array"],
    ["fs.list", "null", "(root): Invalid input: expected object, received null"],
    ["fs.list", '"@project"', "(root): Invalid input: expected object, received string"],
    ["fs.list", {}, "path: Invalid input: expected string, received undefined"],
    ["fs.list", { path: 1 }, "path: Invalid input: expected string, received number"],
    ["fs.list", { path: ["@project"] }, "path: Invalid input: expected string, received array"],
    ["fs.list", { path: "@project", recursive: true }, '(root): Unrecognized key: "recursive"'],
    ["fs.read", { path: "p", startLine: 0 }, "startLine: Too small: expected number to be >=1"],
    ["fs.read", { path: "p", startLine: 1.5 }, "startLine: Invalid input: expected int, received number"],
    ["fs.read", { path: "p", endLine: "2" }, "endLine: Invalid input: expected number, received string"],
    ["fs.read", { path: "p", endLine: 1e300 }, "endLine: Too big: expected int to be <=9007199254740991"],
    ["fs.search", { path: "p", pattern: "" }, "pattern: Too small: expected string to have >=1 characters"],
    ["fs.search", { path: "p", pattern: "x", before: 21 }, "before: Too big: expected number to be <=20"],
    [
      "fs.search",
      { path: "p", pattern: "x", maxMatches: 501 },
      "maxMatches: Too big: expected number to be <=500",
    ],
    ["fs.write", { path: "p" }, "content: Invalid input: expected string, received undefined"],
    [
      "fs.write",
      { path: "p", content: { a: 1 } },
      "content: Invalid input: expected string, received object",
    ],
    ["fs.apply_patch", { path: "p" }, "patch: Invalid input: expected object, received undefined"],
    [
      "fs.apply_patch",
      { path: "p", patch: "--- a\n+++ b" },
      "patch: Invalid input: expected object, received string",
    ],
    [
      "fs.apply_patch",
      { path: "p", patch: { operation: "replace", update: {} } },
      'patch.operation: Invalid input: expected "updateFrontmatter"',
    ],
    ["fs.apply_patch", patch({}), "patch.update: The update is empty."],
    ["fs.apply_patch", patch({ title: { set: "x" } }), 'patch.update: Unrecognized key: "title"'],
    [
      "fs.apply_patch",
      patch({ stepsCompleted: ["a"] }),
      "patch.update.stepsCompleted: Invalid input: expected object, received array",
    ],
    [
      "fs.apply_patch",
      patch({ stepsCompleted: { set: ["a"] } }),
      "patch.update.stepsCompleted.append: Invalid input: expected array, received undefined",
    ],
    [
      "fs.apply_patch",
      patch({ stepsCompleted: { append: [1] } }),
      "patch.update.stepsCompleted.append.0: Invalid input: expected string, received number",
    ],
    [
      "fs.apply_patch",
      patch({ variables: { set: [] } }),
      "patch.update.variables.set: Invalid input: expected record, received array",
    ],
    [
      "fs.apply_patch",
      patch({ variables: { unset: [] } }),
      "patch.update.variables.set: Invalid input: expected record, received undefined",
    ],
    [
      "fs.apply_patch",
      patch({ currentNodeId: { set: null } }),
      "patch.update.currentNodeId.set: Invalid input: expected string, received null",
    ],
    [
      "fs.apply_patch",
      patch({ decisionLog: { append: [{ from: "a", to: "b" }] } }),
      "patch.update.decisionLog.append.0.label: Invalid input: expected string, received undefined",
    ],
    [
      "fs.apply_patch",
      patch({ decisionLog: { append: [{ from: "a", to: "b", label: "c", x: 1 }] } }),
      'patch.update.decisionLog.append.0: Unrecognized key: "x"',
    ],
  ])("%s %j", (name, args, why) => {
    expect(parse(name, args)).toMatchObject({
      code: "TOOL_ARGS_INVALID",
      message: expect.stringContaining(why),
      details: { expected: expect.stringMatching(/^path/u) },
    });
  });

  test("says which arguments there are and which may be left out", () => {
    expect(parse("fs.write", {})).toMatchObject({
      details: { expected: "path, content, ifMatchSha256?, append?" },
    });
  });

  test.each([
    [
      { steps_completed: { append: ["a"] } },
      "patch.update: stepsCompleted?, artifacts?, decisionLog?, variables?, currentNodeId?, updatedAt?",
    ],
    [{ stepsCompleted: ["a"] }, "patch.update.stepsCompleted: append"],
    [{ stepsCompleted: { append: [1] } }, "patch.update.stepsCompleted: append"],
    [{ constructor: 1 }, "patch.update: stepsCompleted?"],
  ])("says what the object holds in which something is wrong: %j", (update, holds) => {
    expect(parse("fs.apply_patch", patch(update))).toMatchObject({
      details: { expected: expect.stringContaining(`path, patch; ${holds}`) },
    });
  });

  test.each([
    '{"path":"@project","__proto__":{"polluted":true}}',
    '{"path":"@project","\\u005f_proto__":1}',
    '{"__proto__":1,"path":"@project"}',
  ])("a key named __proto__, however it is spelled: %s", (text) => {
    expect(parse("fs.list", text)).toEqual({
      code: "TOOL_ARGS_INVALID",
      message: "A key named __proto__ is not allowed.",
    });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("a key named __proto__ deep in a variable", () => {
    const text = JSON.stringify(patch({ variables: { set: { a: [{ b: "KEY" }] } } })).replace(
      '"b"',
      '"__proto__"',
    );
    expect(parse("fs.apply_patch", text)).toMatchObject({ code: "TOOL_ARGS_INVALID" });
  });

  test("the text __proto__ in a value is a text", () => {
    expect(parse("fs.write", { path: "p", content: "__proto__" })).toMatchObject({ tool: "fs.write" });
  });
});

describe("hostile sizes", () => {
  test.each([
    ["fs.list", '{"path":"', "a".repeat(70_000), "TOOL_ARGS_INVALID", 65_536],
    ["fs.read", '{"path":"', "a".repeat(70_000), "TOOL_ARGS_INVALID", 65_536],
    ["fs.search", '{"path":"', "a".repeat(70_000), "TOOL_ARGS_INVALID", 65_536],
    ["fs.apply_patch", '{"path":"', "a".repeat(600_000), "E_WRITE_LIMIT", 524_288],
    ["fs.write", '{"path":"@project/a","content":"', "a".repeat(9_000_000), "E_WRITE_LIMIT", 8_065_536],
  ])("%s refuses arguments that are too long before it parses them", (name, head, filling, code, limit) => {
    expect(parse(name, `${head}${filling}`)).toEqual({
      code,
      message: `The arguments of ${name} are longer than ${limit} characters. Send less at once.`,
    });
  });

  test.each([
    ["a hundred levels", 100, true],
    ["a hundred and one", 101, false],
    ["a hundred thousand", 100_000, false],
  ])("%s of nesting: %i", (_, depth, isParsed) => {
    const fault = parse("fs.search", `${"[".repeat(depth)}${"]".repeat(depth)}`.slice(0, 65_000));
    expect(JSON.stringify(fault).includes("nested deeper than 100 levels")).toBe(!isParsed);
  });

  test("more values than can be looked at are refused, whatever they are", () => {
    const lists = (count: number) => `{"path":"p","patch":[${"[],".repeat(count)}1]}`;
    expect(parse("fs.apply_patch", lists(30_000))).toMatchObject({ code: "E_WRITE_LIMIT" });
    expect(JSON.stringify(parse("fs.apply_patch", lists(30_000)))).toContain(
      "more values than can be looked at",
    );
    expect(parse("fs.apply_patch", lists(1_000))).toMatchObject({ code: "TOOL_ARGS_INVALID" });
    expect(parse("fs.list", `[${"1,".repeat(60_000)}1]`)).toMatchObject({ code: "TOOL_ARGS_INVALID" });
  });

  test("brackets in a text do not count", () => {
    expect(parse("fs.write", { path: "p", content: `${"[{".repeat(5_000)}"\\` })).toMatchObject({
      tool: "fs.write",
    });
  });

  test("a refusal repeats what the model wrote only in part, on one line", () => {
    const key = `x\n\u2028${"y".repeat(20_000)}`;
    const fault = parse(
      "fs.list",
      Object.fromEntries([["path", 1], ...Array.from({ length: 30 }, (_, i) => [`${key}${i}`, 1])]),
    );
    const text = JSON.stringify(fault);
    expect(text.length).toBeLessThan(2_000);
    expect(fault).toMatchObject({ message: expect.not.stringMatching(/[\n\u2028]/u) });
  });

  test("at most ten errors are listed", () => {
    const fault = parse(
      "fs.apply_patch",
      patch({ stepsCompleted: { append: Array.from({ length: 100 }, () => 1) } }),
    );
    expect(fault).toMatchObject({ details: { errors: { length: 10 } } });
  });
});

describe("nestingDepth", () => {
  test.each([
    ["", 0],
    ["1", 0],
    ["{}", 1],
    ['{"a":[{}]}', 3],
    ["[][][]", 1],
    ['"[[["', 0],
    ['"\\"[[["', 0],
    ['["\\\\",[1]]', 2],
    ["]]]][[", 0],
    ["{[", 2],
  ])("%s is %i", (text, depth) => {
    expect(nestingDepth(text)).toBe(depth);
  });
});

test("parsing anything ends in a call or a fault, never in an exception", () => {
  const anything = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.json(),
    fc.jsonValue().map((value) => JSON.stringify({ path: "@state/workflow.md", patch: value })),
    fc.jsonValue().map((value) => JSON.stringify(patch({ variables: { set: value } }))),
  );
  fc.assert(
    fc.property(fc.constantFrom(...FILE_TOOLS), anything, (name, text) => {
      const result = parseToolCall(name, text);
      expect(result.ok ? "TOOL_ARGS_INVALID" : result.error.code).toMatch(/^TOOL_ARGS_INVALID/u);
    }),
    { numRuns: 1_000, seed: 9 },
  );
});

test("content with half a surrogate pair is refused: UTF-8 cannot hold it", () => {
  const parsed = parseToolCall("fs.write", JSON.stringify({ path: "@project/x", content: "\ud800" }));
  expect(parsed).toMatchObject({ ok: false, error: { code: "TOOL_ARGS_INVALID" } });
});
