import { describe, expect, test } from "vitest";
import { type Case, runCases, sharedWorld } from "./cases.js";
import { OUTSIDE_SECRET } from "./project-tree.js";
import { codeOf } from "./world.js";

const JSON_INVALID = "TOOL_ARGS_INVALID_JSON";
const ARGS = "TOOL_ARGS_INVALID";
const NO_TOOL = "TOOL_NOT_AVAILABLE";

const TOOLS = ["fs.list", "fs.read", "fs.search", "fs.write", "fs.apply_patch"] as const;
const world = sharedWorld();

const valid = {
  "fs.list": { path: "@project" },
  "fs.read": { path: "@project/README.md" },
  "fs.search": { path: "@project/src", pattern: "needle" },
  "fs.write": { path: "@project/new.txt", content: "x" },
  "fs.apply_patch": {
    path: "@state/workflow.md",
    patch: { operation: "updateFrontmatter", update: { variables: { set: { a: 1 } } } },
  },
} as const;

describe("arguments that are not JSON", () => {
  const texts: readonly [string, string][] = [
    ["nothing", ""],
    ["blanks", "  \n\t"],
    ["a word", "path"],
    ["undefined", "undefined"],
    ["NaN", "NaN"],
    ["an open object", "{"],
    ["a closed object", "}"],
    ["an object cut off", '{"path":"@project/READ'],
    ["an object without its end", '{"path":"@project"'],
    ["more than an object", '{"path":"@project"}}'],
    ["two objects", '{"path":"@project"}{"path":"@pkg"}'],
    ["two objects on two lines", '{"path":"@project"}\n{"path":"@pkg"}'],
    ["a comma too many", '{"path":"@project",}'],
    ["single quotes", "{'path':'@project'}"],
    ["a key without quotes", '{path:"@project"}'],
    ["a comment", '{"path":"@project"/* x */}'],
    ["a line comment", '{"path":"@project"} // x'],
    ["a byte-order mark", '\ufeff{"path":"@project"}'],
    ["a no-break space", '\u00a0{"path":"@project"}'],
    ["a raw line break in a text", '{"path":"@project/\n"}'],
    ["a raw tab in a text", '{"path":"@project/\t"}'],
    ["a raw NUL in a text", '{"path":"@project/\0"}'],
    ["a false escape", '{"path":"@project/\\x41"}'],
    ["a cut escape", '{"path":"@project/\\u00"}'],
    ["a number with a plus", '{"path":"@project","startLine":+1}'],
    ["a number with leading zeros", '{"path":"@project","startLine":01}'],
    ["a hexadecimal number", '{"path":"@project","startLine":0x1}'],
    ["Infinity", '{"path":"@project","startLine":Infinity}'],
    ["a Markdown fence", '```json\n{"path":"@project"}\n```'],
    ["XML", "<path>@project</path>"],
    ["YAML", "path: '@project'"],
    ["a query", "path=@project"],
    ["a call", 'fs_read({"path":"@project"})'],
    ["a template", '{"path":`@project`}'],
    ["a function", "(() => ({ path: '@project' }))()"],
    ["a NUL", "\0"],
    ["half a surrogate pair", "\ud800"],
    ["a secret in plain text", `api_key=sk-corpus0123456789abcdefABCDEF`],
  ];
  const cases = TOOLS.flatMap((tool) =>
    texts.map(([name, raw]): Case => ({ name: `${tool}: ${name}`, tool, raw, expect: JSON_INVALID })),
  );
  runCases(world, cases);
});

describe("JSON that is no object of arguments", () => {
  const texts = [
    "null",
    "true",
    "0",
    "-1e9",
    '"@project/README.md"',
    '""',
    "[]",
    '["@project/README.md"]',
    "{}",
    '{"path":null}',
    '{"path":1}',
    '{"path":true}',
    '{"path":[]}',
    '{"path":["@project/README.md"]}',
    '{"path":{"toString":"@project"}}',
    '{"Path":"@project/README.md"}',
    '{"path ":"@project/README.md"}',
    '{"file_path":"@project/README.md"}',
    '{"arguments":{"path":"@project/README.md"}}',
    '{"path":"@project/README.md","path2":"x"}',
    '{"path":"@project/README.md","__proto__":{"startLine":1}}',
    '{"\\u005f_proto__":{"path":"@project/README.md"}}',
    '{"constructor":{"prototype":{"path":"@project"}}}',
    '{"path":"@project/README.md","encoding":"utf8"}',
    '{"path":"@project/README.md","recursive":true}',
    '{"path":"@project/README.md","constructor":1}',
    '{"path":"@project/README.md","hasOwnProperty":1}',
    '{"path":"@project/README.md","":1}',
  ];
  const cases = TOOLS.flatMap((tool) =>
    texts.map((raw): Case => ({
      name: `${tool}: ${raw}`,
      tool,
      raw,
      expect: ARGS,
      result: {
        error: { message: expect.stringContaining(tool === "fs.list" || raw.includes("proto") ? "" : tool) },
      },
    })),
  );
  runCases(world, cases);

  test("says what was expected", async () => {
    const { result } = await world().call({ tool: "fs.search", args: { path: 1 } });
    expect(result).toMatchObject({
      error: { details: { errors: expect.arrayContaining([expect.objectContaining({ path: "path" })]) } },
    });
    expect(JSON.stringify(result)).toContain("pattern");
  });
});

describe("values of the wrong kind", () => {
  const wrong: readonly [string, object][] = [
    ...[0, -1, 1.5, "1", null, true, [1], 2 ** 53, 1e300].flatMap((value) =>
      ["startLine", "endLine"].map((key): [string, object] => ["fs.read", { [key]: value }]),
    ),
    ...[-1, 1.5, "1", null, 21, 1e9].flatMap((value) =>
      ["before", "after"].map((key): [string, object] => ["fs.search", { [key]: value }]),
    ),
    ...[0, -1, 1.5, "50", null, 1e9].map((value): [string, object] => ["fs.search", { maxMatches: value }]),
    ...["", 1, null, ["x"], { source: "x" }, "p".repeat(1001)].map((value): [string, object] => [
      "fs.search",
      { pattern: value },
    ]),
    ...[1, null, true, ["x"], { text: "x" }, { type: "Buffer", data: [65] }].map(
      (value): [string, object] => ["fs.write", { content: value }],
    ),
    ...[1, null, true, ["x"], {}].map((value): [string, object] => ["fs.write", { ifMatchSha256: value }]),
  ];
  const cases = wrong.map(([tool, change]): Case => ({
    name: `${tool} ${JSON.stringify(change).slice(0, 60)}`,
    tool,
    args: { ...valid[tool as keyof typeof valid], ...change },
    expect: ARGS,
  }));
  runCases(world, cases);
});

describe("tools that do not exist", () => {
  const names = [
    "",
    " ",
    "fs",
    "fs.",
    ".read",
    "read",
    "fs.Read",
    "FS.READ",
    "fs.read ",
    " fs.read",
    "fs.read\n",
    "fs.read\0",
    "fs..read",
    "fs/read",
    "fs-read",
    "fs:read",
    "fs__read",
    "fs.apply.patch",
    "fs_apply.patch",
    "fs.applyPatch",
    "fs.delete",
    "fs.move",
    "fs.exec",
    "fs.chmod",
    "fs_symlink",
    "shell",
    "bash",
    "eval",
    "state.persist",
    "model.turn",
    "run.open",
    "mcp.call",
    "read_file",
    "save_output",
    "functions.fs_read",
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    "../fs.read",
    "fs.read; rm -rf /",
    "<script>",
    "{{fs.read}}",
    "fs.réad",
    "ｆs.read",
    "fs.read\u200b",
    "\ud800",
    "n".repeat(10_000),
    "sk-corpus0123456789abcdefABCDEF",
    "line\nbreak\r\u2028\u0085",
  ];
  runCases(
    world,
    names.map((tool): Case => ({
      name: JSON.stringify(tool.slice(0, 60)),
      tool,
      args: { path: "@project/README.md" },
      expect: NO_TOOL,
    })),
  );

  test.each(TOOLS)("%s is understood under its wire name", async (tool) => {
    const { result, auditLine } = await world().call({ tool: tool.replace(".", "_"), args: valid[tool] });
    expect(codeOf(result)).toBe("ok");
    expect(auditLine).toMatchObject({ toolName: tool });
  });
});

describe("an agent without file tools", () => {
  const cases = TOOLS.flatMap((tool): Case[] => [
    { name: `${tool}: valid`, tool, args: valid[tool], agent: "mute", expect: NO_TOOL },
    {
      name: `${tool}: by its wire name`,
      tool: tool.replace(".", "_"),
      args: valid[tool],
      agent: "mute",
      expect: NO_TOOL,
    },
    { name: `${tool}: no JSON`, tool, raw: "{", agent: "mute", expect: NO_TOOL },
    { name: `${tool}: no arguments`, tool, raw: "{}", agent: "mute", expect: NO_TOOL },
    {
      name: `${tool}: a way out`,
      tool,
      args: { ...valid[tool], path: "/etc/passwd" },
      agent: "mute",
      expect: NO_TOOL,
    },
  ]);
  runCases(world, cases);

  test("sees none either", async () => {
    const { packageId, host } = world();
    expect(await host.getVisibleTools({ packageId, agentId: "mute" })).toEqual([]);
    expect(await host.getVisibleTools({ packageId, agentId: "author" })).toHaveLength(5);
  });
});

describe("nesting and size", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const cases = TOOLS.flatMap((tool): Case[] => [
    { name: `${tool}: lists 101 deep`, tool, raw: nested(101), expect: ARGS },
    { name: `${tool}: lists 20,000 deep`, tool, raw: nested(20_000), expect: ARGS },
    { name: `${tool}: objects 101 deep`, tool, raw: objects(101), expect: ARGS },
    { name: `${tool}: objects 10,000 deep`, tool, raw: objects(10_000), expect: ARGS },
    { name: `${tool}: opened and never closed`, tool, raw: "[".repeat(20_000), expect: ARGS },
    { name: `${tool}: brackets in a text`, tool, raw: `{"x":"${"[".repeat(5000)}"}`, expect: ARGS },
    {
      name: `${tool}: 5,000 keys`,
      tool,
      args: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i])),
      expect: ARGS,
    },
    { name: `${tool}: a key of 30,000 characters`, tool, args: { ["k".repeat(30_000)]: 1 }, expect: ARGS },
    { name: `${tool}: a key with line breaks`, tool, args: { "a\nb\r\u2028c": 1 }, expect: ARGS },
    {
      name: `${tool}: a key that is a secret`,
      tool,
      args: { "sk-corpus0123456789abcdefABCDEF": 1 },
      expect: ARGS,
    },
  ]);
  runCases(world, cases);
  runCases(world, [
    {
      name: "a path of a megabyte",
      tool: "fs.read",
      args: { path: `@project/${"a".repeat(1_000_000)}` },
      expect: ARGS,
    },
    {
      name: "a pattern of a megabyte",
      tool: "fs.search",
      args: { ...valid["fs.search"], pattern: "a".repeat(1_000_000) },
      expect: ARGS,
    },
    {
      name: "blanks of a megabyte",
      tool: "fs.list",
      raw: `${" ".repeat(1_000_000)}{"path":"@project"}`,
      expect: ARGS,
    },
    {
      name: "content of nine megabytes",
      tool: "fs.write",
      args: { ...valid["fs.write"], content: "a".repeat(9_000_000) },
      expect: "E_WRITE_LIMIT",
    },
    { name: "a deep list of a megabyte", tool: "fs.write", raw: nested(500_000), expect: ARGS },
  ]);
});

describe("the last of equal keys counts, everywhere", () => {
  runCases(world, [
    {
      name: "a good path hides no bad one",
      tool: "fs.read",
      raw: '{"path":"@project/README.md","path":"/etc/passwd"}',
      expect: "E_SANDBOX_VIOLATION",
    },
    {
      name: "a bad path hides no good one",
      tool: "fs.read",
      raw: '{"path":"/etc/passwd","path":"@project/README.md"}',
      expect: "ok",
    },
    {
      name: "an escaped key is the same key",
      tool: "fs.read",
      raw: '{"path":"@project/README.md","\\u0070ath":"@project/../outside/secret.txt"}',
      expect: "E_SANDBOX_VIOLATION",
    },
  ]);
});

describe("texts that look like calls", () => {
  test("what a file says is content, whatever it looks like", async () => {
    const { result } = await world().call({ tool: "fs.read", args: { path: "@project/quoted.txt" } });
    expect(result).toMatchObject({ ok: true, content: expect.stringContaining("[INST]") });
  });

  test("a call that fails is worth no secret of anybody", async () => {
    for (const path of [`@project/${OUTSIDE_SECRET.slice(0, 5)}`, "@project/out-file", "@project/.env"]) {
      const { result } = await world().call({ tool: "fs.read", args: { path } });
      expect(result.ok).toBe(false);
    }
  });
});

describe("identity of a call", () => {
  const ids = [
    "",
    " ",
    "call 1",
    "__proto__",
    "constructor",
    "../../../x",
    "a/b",
    "line\nbreak",
    "\u2028",
    "\0",
    "\ud800",
    "😀",
    '"quoted"',
    "{}",
    "0",
    "null",
  ];
  test.each(ids.map((id) => ({ id })))("$id is an id like any other", async ({ id }) => {
    const path = `@project/by-id-${Buffer.from(id).toString("hex")}.txt`;
    const first = await world().call({ id, tool: "fs.write", args: { path, content: "first" } });
    expect(codeOf(first.result)).toBe("ok");
    const second = await world().call({ id, tool: "fs.write", args: { path, content: "second" } }, 0);
    expect(second.result).toEqual(first.result);
    expect(second.changes).toEqual([]);
  });

  test("what is passed for texts and is none breaks nothing", async () => {
    const texts = JSON.parse('[null, 1, {}, ["{}"]]') as string[]; // what a caller in JavaScript may do
    for (const text of texts) {
      const { result } = await world().call({ tool: "fs.read", raw: text });
      expect(codeOf(result)).toBe(JSON_INVALID);
      expect(codeOf((await world().call({ tool: text, raw: "{}" })).result)).toBe(NO_TOOL);
    }
  });
});
