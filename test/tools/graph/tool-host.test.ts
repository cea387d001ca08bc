import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolResult } from "../../../src/core/tools/tool-result.js";
import { verifyAuditLog } from "../../../src/store/runs/audit-verify.js";
import { parseMarkdown } from "../../../src/core/documents/front-matter.js";
import { ExecutionOver } from "../../../src/store/runs/executions.js";
import type { RunFiles } from "../../../src/store/runs/run-files.js";
import type { EngineKnowledge } from "../../../src/tools/graph/call-context.js";
import { type ToolCallRequest, type ToolHost, createToolHost } from "../../../src/tools/graph/tool-host.js";
import { agent, validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, jsonLines, namesIn, openRunWorld, valueOf } from "../../fakes/run-world.js";

const NOW = "2026-03-04T05:06:07.000Z";
const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const DRAFT_TO_DONE = [{ to: "done", label: "finished" }];

function packageWithAgents() {
  const policy = (id: string, fs: object) => ({ ...agent(id), tools: { fs } });
  return {
    ...validPackage(),
    "agents.json": {
      schemaVersion: "1.1",
      agents: [
        agent("author"),
        policy("small", { maxReadBytes: 20, maxWriteBytes: 50 }),
        policy("greedy", { maxReadBytes: 9_000_000_000, maxWriteBytes: 9_000_000_000 }),
        policy("quiet", { enabled: false }),
        policy("editor", { edit: true, maxWriteBytes: 100 }),
        policy("neither", { enabled: false, edit: true }),
      ],
    },
    "workflow.md": "---\nschemaVersion: 1.1\nworkflowType: tiny\n---\nBody\r\nwithout a last line end",
  };
}

let world: RunWorld;
let host: ToolHost;
let files: RunFiles;
let request: (
  name: string,
  args: unknown,
  changes?: Partial<ToolCallRequest>,
  agentId?: string,
) => ToolCallRequest;
let results: ToolResult[];
let calls = 0;

beforeEach(async () => {
  world = await openRunWorld(packageWithAgents());
  const { store, projectRoot, packageId } = world;
  const run = valueOf(
    await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date(NOW)),
  );
  files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
  host = createToolHost({ store });
  results = [];
  request = (name, args, changes = {}, agentId = "author") => ({
    toolCallId: `call-${(calls += 1)}`,
    name,
    argumentsJson: typeof args === "string" ? args : JSON.stringify(args),
    context: { projectRoot, packageId, workflowId: "tiny", runId: run.runId, agentId },
    ...changes,
  });
});

/** What holds after every call, whatever it was: no host path in a result, no temporary file, a sound audit log. */
afterEach(async () => {
  for (const result of results) {
    const text = JSON.stringify(result);
    for (const secret of [world.dir, "/proc/", process.cwd()]) assert.ok(!text.includes(secret), text);
  }
  const left = (await namesIn(world.dir)).filter((name) => /\.tmp-|\.il-/u.test(name));
  assert.deepEqual(left, []);
  assert.deepEqual((await verifyAuditLog(files.logFile)).findings, []);
});

async function call(name: string, args: unknown, agentId?: string): Promise<ToolResult> {
  const result = await host.executeToolCall(request(name, args, {}, agentId));
  results.push(result);
  return result;
}

async function callForEngine(
  name: string,
  args: unknown,
  knowledge: EngineKnowledge,
  changes: Partial<ToolCallRequest> = {},
) {
  const executed = await host.executeForEngine(request(name, args, changes), knowledge);
  results.push(executed.result);
  return executed;
}

const patch = (update: object, extra: object = {}) => ({
  path: "@state/workflow.md",
  patch: { operation: "updateFrontmatter", update, ...extra },
});
const fault = (result: ToolResult) => (result.ok ? undefined : result.error);
const statePath = () => join(files.stateDir, "workflow.md");
const stateText = () => readFile(statePath(), "utf8");
const frontmatter = async () => valueOf(parseMarkdown(await readFile(statePath()))).frontmatter;
const events = () => jsonLines(files.logFile);
const projectFiles = () => namesIn(world.projectRoot);

describe("which tools an agent sees", () => {
  const visible = (agentId: string) => host.getVisibleTools({ packageId: world.packageId, agentId });

  test("are all five, or none where its policy disables them", async () => {
    const names = (await visible("author")).map((tool) => tool.function.name);
    expect(names).toEqual(["fs_list", "fs_read", "fs_search", "fs_write", "fs_apply_patch"]);
    expect(await visible("quiet")).toEqual([]);
    expect(await visible("neither")).toEqual([]);
    expect((await visible("editor")).map((tool) => tool.function.name)).toEqual([...names, "fs_edit"]);
  });

  test("an agent or a package that does not exist is an error, no silent default", async () => {
    await expect(visible("constructor")).rejects.toThrow(
      'The package has no agent "constructor". It has: author, small, greedy, quiet, editor, neither.',
    );
    await expect(
      host.getVisibleTools({ packageId: "none-1.0.0-000000000000", agentId: "author" }),
    ).rejects.toThrow("is installed");
  });
});

describe("an agent's policy", () => {
  test.each([
    ["fs.list", { path: "@project" }],
    ["fs_write", { path: "@project/a", content: "x" }],
    ["fs.apply_patch", "no JSON at all"],
  ])("that disables the file tools refuses %s, whatever its arguments", async (name, args) => {
    expect(fault(await call(name, args, "quiet"))).toEqual({
      code: "TOOL_NOT_AVAILABLE",
      message: "The file tools are disabled for this agent.",
    });
    expect(await projectFiles()).toEqual(["artifacts/"]);
  });

  test("gives fs.edit or does not; an edit is recorded as a write is", async () => {
    await call("fs.write", { path: "@project/a.ts", content: "one two" });
    const edit = { path: "@project/a.ts", oldText: "one", newText: "1" };
    for (const agentId of ["author", "neither"]) {
      expect(fault(await call("fs_edit", edit, agentId))).toMatchObject({ code: "TOOL_NOT_AVAILABLE" });
    }
    expect(await readFile(join(world.projectRoot, "a.ts"), "utf8")).toBe("one two");
    const made = request("fs_edit", edit, {}, "editor");
    const result = await host.executeToolCall(made);
    expect(result).toMatchObject({ ok: true, replacements: 1, sha256After: sha256("1 two") });
    expect(await host.executeToolCall(made)).toEqual(result);
    expect(await readFile(join(world.projectRoot, "a.ts"), "utf8")).toBe("1 two");
    expect((await events()).at(-1)).toMatchObject({ toolName: "fs.edit", agentId: "editor" });
    expect((await files.calls.filesWritten(10)).get("@project/a.ts")).toBe(sha256("1 two"));
  });

  test("comes before what the engine would refuse for", async () => {
    const refusal = { code: "E_INVALID_TRANSITION", message: "no" } as const;
    const { result } = await host.executeForEngine(request("fs.apply_patch", patch({}), {}, "quiet"), {
      refusal,
    });
    expect(fault(result)?.code).toBe("TOOL_NOT_AVAILABLE");
  });

  test("limits what is read and written, in bytes", async () => {
    await writeFile(join(world.projectRoot, "f"), "é".repeat(11));
    expect(await call("fs.read", { path: "@project/f" }, "small")).toMatchObject({
      ok: true,
      truncated: true,
      bytes: 22,
    });
    expect(await call("fs.write", { path: "@project/g", content: "é".repeat(25) }, "small")).toMatchObject({
      ok: true,
      bytesWritten: 50,
    });
    expect(
      fault(await call("fs.write", { path: "@project/h", content: "é".repeat(26) }, "small"))?.code,
    ).toBe("E_WRITE_LIMIT");
    expect(await projectFiles()).toEqual(["artifacts/", "f", "g"]);
  });

  test("has defaults of 50,000 bytes to read and 100,000 to write", async () => {
    await writeFile(join(world.projectRoot, "f"), "x".repeat(50_001));
    expect(await call("fs.read", { path: "@project/f" })).toMatchObject({ truncated: true });
    expect(fault(await call("fs.write", { path: "@project/f", content: "x".repeat(100_001) }))?.code).toBe(
      "E_WRITE_LIMIT",
    );
    expect(await call("fs.write", { path: "@project/f", content: "x".repeat(50_000) })).toMatchObject({
      ok: true,
    });
    expect(await call("fs.read", { path: "@project/f" })).toMatchObject({ truncated: false });
  });

  test("is never above the host's caps", async () => {
    await writeFile(join(world.projectRoot, "f"), "x".repeat(1_000_001));
    expect(await call("fs.read", { path: "@project/f" }, "greedy")).toMatchObject({ truncated: true });
    expect(
      fault(await call("fs.write", { path: "@project/f", content: "x".repeat(4_000_001) }, "greedy")),
    ).toMatchObject({
      code: "E_WRITE_LIMIT",
      message: expect.stringContaining("4000000"),
    });
  });
});

describe("calls that cannot be run", () => {
  const deep = (levels: number) => "[".repeat(levels);
  test.each<[string, string, unknown, string]>([
    ["an unknown tool", "rm -rf", {}, "TOOL_NOT_AVAILABLE"],
    ["no tool", "", {}, "TOOL_NOT_AVAILABLE"],
    ["a tool that every object has", "constructor", {}, "TOOL_NOT_AVAILABLE"],
    ["no arguments", "fs.list", "", "TOOL_ARGS_INVALID_JSON"],
    ["half an argument", "fs.list", '{"path":', "TOOL_ARGS_INVALID_JSON"],
    ["an empty object", "fs.list", {}, "TOOL_ARGS_INVALID"],
    ["an unknown argument", "fs.list", { path: "@project", depth: 1 }, "TOOL_ARGS_INVALID"],
    ["a __proto__ key", "fs.list", '{"path":"@project","__proto__":{}}', "TOOL_ARGS_INVALID"],
    ["deep, broken nesting", "fs.list", deep(30_000), "TOOL_ARGS_INVALID"],
    [
      "very deep nesting",
      "fs.write",
      `{"path":"@project/a","content":"x","deep":${deep(400_000)}${"]".repeat(400_000)}}`,
      "TOOL_ARGS_INVALID",
    ],
    ["a huge path", "fs.apply_patch", `{"path":"${"x".repeat(600_000)}"}`, "E_WRITE_LIMIT"],
    ["a path that climbs", "fs.list", { path: "@project/../.." }, "E_SANDBOX_VIOLATION"],
    ["a path of the machine", "fs.list", { path: "/etc" }, "E_SANDBOX_VIOLATION"],
    ["a file that is not there", "fs.read", { path: "@project/none" }, "ENOENT"],
  ])("for %s are refused and recorded all the same", async (_, name, args, code) => {
    expect(fault(await call(name, args))?.code).toBe(code);
    const [event, more] = await events();
    expect(event).toMatchObject({ kind: "tool.exec", output: { ok: false, error: { code } } });
    expect(more).toBeUndefined();
    expect((await readFile(files.logFile, "utf8")).length).toBeLessThan(20_000);
  });

  test("in a run that does not exist, or a project that does not, are refused without a word of where things are", async () => {
    const { context } = request("fs.list", {});
    const executeIn = (changes: object) =>
      host.executeToolCall(
        request("fs.write", { path: "@state/x", content: "" }, { context: { ...context, ...changes } }),
      );
    const before = await namesIn(world.dir);
    expect(fault(await executeIn({ runId: "11111111-2222-4333-8444-555555555555" }))?.code).toBe(
      "E_RUN_NOT_FOUND",
    );
    expect(fault(await executeIn({ runId: "../../x" }))?.code).toBe("E_RUN_NOT_FOUND");
    for (const projectRoot of [join(world.dir, "store"), join(world.dir, "nowhere"), ""]) {
      const result = await executeIn({ projectRoot, runId: "11111111-2222-4333-8444-555555555555" });
      results.push(result);
      expect(fault(result)?.code).toMatch(/^E_(?:RUN_NOT_FOUND|PROJECT_INVALID)$/u);
    }
    expect(await namesIn(world.dir)).toEqual(before);
  });

  test("because the project's directory is gone are refused, and recorded", async () => {
    const made = request("fs.list", { path: "@project" });
    await rm(world.projectRoot, { recursive: true });
    const result = await host.executeToolCall(made);
    results.push(result);
    expect(fault(result)).toEqual({
      code: "E_PROJECT_INVALID",
      message: "The project's directory does not exist.",
    });
    expect(await events()).toMatchObject([{ toolCallId: made.toolCallId, output: { ok: false } }]);
    await mkdir(world.projectRoot);
  });

  test.each([
    ["agentId", "nobody", "E_AGENT_NOT_FOUND"],
    ["workflowId", "nothing", "E_WORKFLOW_NOT_FOUND"],
    ["packageId", "none-1.0.0-000000000000", "E_PACKAGE_NOT_FOUND"],
  ])("because of an unknown %s are clear failures", async (key, value, code) => {
    const { context } = request("fs.list", {});
    const result = await host.executeToolCall(
      request("fs.list", { path: "@project" }, { context: { ...context, [key]: value } }),
    );
    expect(fault(result)?.code).toBe(code);
    expect(await events()).toHaveLength(1);
  });

  test("for the engine's reasons have its refusal for a result", async () => {
    const refusal = { code: "E_INVALID_TRANSITION", message: "no", details: { allowedNext: [] } } as const;
    const executed = await callForEngine(
      "fs.write",
      { path: "@project/a", content: "x" },
      { refusal, nodeId: "draft" },
    );
    expect(executed.result).toEqual({ ok: false, error: refusal });
    expect(await projectFiles()).toEqual(["artifacts/"]);
    expect(await events()).toMatchObject([
      { nodeId: "draft", output: { error: { code: "E_INVALID_TRANSITION" } } },
    ]);
  });
});

describe("the state document by patch", () => {
  test("is changed under the guard, body and all else kept byte for byte", async () => {
    const before = await readFile(statePath());
    const { result, state } = await callForEngine(
      "fs.apply_patch",
      patch({
        stepsCompleted: { append: ["draft"] },
        variables: { set: { title: "é" } },
        currentNodeId: { set: "done" },
      }),
      { now: "2026-04-05T06:07:08.000Z" },
    );
    const after = await readFile(statePath());
    expect(result).toEqual({
      ok: true,
      path: "@state/workflow.md",
      sha256Before: sha256(before),
      sha256After: sha256(after),
    });
    expect(state).toEqual({ sha256: sha256(after) });
    expect(await frontmatter()).toMatchObject({
      currentNodeId: "done",
      stepsCompleted: ["draft"],
      variables: { title: "é" },
      updatedAt: "2026-04-05T06:07:08.000Z",
    });
    expect(after.toString("utf8")).toMatch(/\n---\nBody\r\nwithout a last line end$/u);
  });

  test.each<[string, object, string, object]>([
    [
      "to a node no edge leads to",
      { currentNodeId: { set: "nowhere" } },
      "E_INVALID_TRANSITION",
      { from: "draft", to: "nowhere", allowedNext: DRAFT_TO_DONE },
    ],
    [
      "with a time that is none",
      { updatedAt: { set: "noon" } },
      "E_SCHEMA_VALIDATION",
      { errors: [{ path: "updatedAt", message: "Invalid ISO datetime" }] },
    ],
  ])("is refused %s, and unchanged", async (_, update, code, details) => {
    const before = await stateText();
    expect(fault(await call("fs.apply_patch", patch(update)))).toMatchObject({ code, details });
    expect(await stateText()).toBe(before);
  });

  test("that would be larger than front matter may be is E_WRITE_LIMIT, and unchanged", async () => {
    const before = await stateText();
    for (const value of ["x".repeat(140_000), Array.from({ length: 60_000 }, () => 1)]) {
      expect(fault(await call("fs.apply_patch", patch({ variables: { set: { value } } })))?.code).toBe(
        "E_WRITE_LIMIT",
      );
    }
    expect(await stateText()).toBe(before);
  });

  test.each(["@state/./workflow.md", "@state//workflow.md", "@state/workflow.md/"])(
    "by the name %s is the same",
    async (path) => {
      const args = { ...patch({ variables: { set: { a: 1 } } }), path };
      expect(await call("fs.apply_patch", args)).toMatchObject({ ok: true, path: "@state/workflow.md" });
    },
  );

  test.each([
    ["@project/notes.md", "TOOL_ARGS_INVALID"],
    ["@state/other.md", "TOOL_ARGS_INVALID"],
    ["@state/logs/execution.jsonl", "E_SANDBOX_VIOLATION"],
    ["@state", "TOOL_ARGS_INVALID"],
    ["@pkg/workflow.md", "E_SANDBOX_VIOLATION"],
    ["@state/../state/workflow.md", "E_SANDBOX_VIOLATION"],
  ])("is the only file that takes one: %s is %s", async (path, code) => {
    const result = await call("fs.apply_patch", { ...patch({ variables: { set: {} } }), path });
    expect(fault(result)?.code).toBe(code);
    expect(fault(result)?.message.length).toBeLessThan(400);
  });

  test("with ifMatchSha256 is changed from that version only", async () => {
    const version = sha256(await stateText());
    const set = (n: number) => ({ variables: { set: { n } } });
    expect(
      await call("fs.apply_patch", patch(set(1), { ifMatchSha256: version.toUpperCase() })),
    ).toMatchObject({ ok: true });
    for (const ifMatchSha256 of [version, "0".repeat(64), "nonsense", ""]) {
      expect(fault(await call("fs.apply_patch", patch(set(2), { ifMatchSha256 })))?.code).toBe(
        "E_PRECONDITION_FAILED",
      );
    }
    expect(await frontmatter()).toMatchObject({ variables: { n: 1 } });
  });

  test("by eight callers with the same ifMatchSha256 is changed by one", async () => {
    const ifMatchSha256 = sha256(await stateText());
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        call("fs.apply_patch", patch({ variables: { set: { n } } }, { ifMatchSha256 })),
      ),
    );
    const winner = outcomes.findIndex((result) => result.ok);
    expect(outcomes.filter((result) => result.ok)).toHaveLength(1);
    expect(await frontmatter()).toMatchObject({ variables: { n: winner } });
  });

  test("by eight callers at once loses no change", async () => {
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        call("fs.apply_patch", patch({ variables: { set: { [`v${n}`]: n } } })),
      ),
    );
    expect(Object.keys((await frontmatter())["variables"] as object)).toHaveLength(8);
  });

  test("holds names that every object has as names", async () => {
    await call(
      "fs.apply_patch",
      patch({ variables: { set: { constructor: 1, toString: { hasOwnProperty: 2 } } } }),
    );
    expect(await frontmatter()).toMatchObject({
      variables: { constructor: 1, toString: { hasOwnProperty: 2 } },
    });
  });

  test("keeps halves of surrogate pairs as they are", async () => {
    await call("fs.apply_patch", patch({ variables: { set: { a: "\ud800" } } }));
    expect(await frontmatter()).toMatchObject({ variables: { a: "\ud800" } });
  });
});

describe("the state document as a whole", () => {
  const changed = async (from: string | RegExp, to: string) => (await stateText()).replace(from, to);
  const write = async (content: string, extra: object = {}) =>
    call("fs.write", { path: "@state/workflow.md", content, ...extra });

  test("is written as it is given, when the guard allows", async () => {
    const content = `\ufeff${await changed('currentNodeId: ""', "currentNodeId: done # there")}\r\nmore`;
    expect(await write(content)).toEqual({
      ok: true,
      path: "@state/workflow.md",
      bytesWritten: Buffer.byteLength(content),
      sha256After: sha256(content),
    });
    expect(await stateText()).toBe(content);
    expect((await stat(statePath())).mode & 0o777).toBe(0o600);
  });

  test.each<[string, () => Promise<string>, string]>([
    ["without front matter", async () => "just text", "E_INVALID_FRONTMATTER"],
    ["with front matter that a language would run", () => changed("---", "---js"), "E_INVALID_FRONTMATTER"],
    [
      "with YAML that cannot be parsed",
      () => changed("workflowType", "a: [\nworkflowType"),
      "E_INVALID_FRONTMATTER",
    ],
    ["with a key twice", () => changed("workflowType", "runId: x\nworkflowType"), "E_INVALID_FRONTMATTER"],
    ["with __proto__", () => changed("workflowType", "__proto__: {}\nworkflowType"), "E_INVALID_FRONTMATTER"],
    [
      "with a billion laughs",
      () =>
        changed(
          "workflowType",
          `a: &a [${"x,".repeat(99)}]\nb: &b [${"*a,".repeat(99)}]\nc: [${"*b,".repeat(99)}]\nworkflowType`,
        ),
      "E_INVALID_FRONTMATTER",
    ],
    [
      "that breaks the schema",
      () => changed("stepsCompleted: []", "stepsCompleted: none"),
      "E_SCHEMA_VALIDATION",
    ],
    ["that jumps", () => changed('currentNodeId: ""', "currentNodeId: nowhere"), "E_INVALID_TRANSITION"],
    ["with half a surrogate pair", async () => `${await stateText()}\ud800`, "TOOL_ARGS_INVALID"],
    [
      "larger than the agent may write",
      async () => `${await stateText()}${"x".repeat(100_000)}`,
      "E_WRITE_LIMIT",
    ],
  ])("is refused %s, and unchanged", async (_, content, code) => {
    const before = await stateText();
    expect(fault(await write(await content()))?.code).toBe(code);
    expect(await stateText()).toBe(before);
  });

  test("with front matter beyond 128 KiB is E_WRITE_LIMIT, as it stands or as it would be written out", async () => {
    const large = await changed("workflowType", `a: ${"x".repeat(140_000)}\nworkflowType`);
    const laughing = await changed(
      "workflowType",
      `a: &a "${"x".repeat(5_000)}"\nb: [${"*a,".repeat(50)}]\nworkflowType`,
    );
    for (const content of [large, laughing]) {
      const result = await call("fs.write", { path: "@state/workflow.md", content }, "greedy");
      expect(fault(result)?.code).toBe("E_WRITE_LIMIT");
    }
  });

  test("cannot take back a step", async () => {
    await call("fs.apply_patch", patch({ stepsCompleted: { append: ["draft"] } }));
    expect(fault(await write(await changed('["draft"]', "[]")))).toMatchObject({
      code: "E_INVALID_TRANSITION",
      details: { removedSteps: ["draft"], allowedNext: DRAFT_TO_DONE },
    });
  });

  test.each(["@state/./workflow.md", "@state//./workflow.md"])(
    "by the name %s is no way around the guard",
    async (path) => {
      const before = await stateText();
      expect(fault(await call("fs.write", { path, content: "just text" }))?.code).toBe(
        "E_INVALID_FRONTMATTER",
      );
      expect(await stateText()).toBe(before);
    },
  );

  test("with ifMatchSha256 is written over that version only", async () => {
    const content = await stateText();
    expect(fault(await write(content, { ifMatchSha256: "0".repeat(64) }))?.code).toBe(
      "E_PRECONDITION_FAILED",
    );
    expect(await write(content, { ifMatchSha256: sha256(content) })).toMatchObject({ ok: true });
  });

  test("is not recorded as an artifact, and neither is anything else in @state", async () => {
    await write(await stateText());
    expect(await call("fs.write", { path: "@state/artifacts/a.md", content: "x" })).toMatchObject({
      ok: true,
    });
    expect(await frontmatter()).toMatchObject({ artifacts: [] });
    expect(fault(await call("fs.write", { path: "@state/logs/execution.jsonl", content: "" }))?.code).toBe(
      "E_SANDBOX_VIOLATION",
    );
  });
});

describe("a state document that was changed from outside the run", () => {
  const conflict = { stateSha256: "0".repeat(64) };

  test.each([
    ["a patch", "fs.apply_patch", patch({ variables: { set: { a: 1 } } })],
    ["a new artifact", "fs.write", { path: "@project/artifacts/a.md", content: "x" }],
  ])("is not written over by %s, and the engine is told", async (_, name, args) => {
    const before = await stateText();
    const executed = await callForEngine(name, args, conflict);
    expect(fault(executed.result)?.code).toBe("E_PRECONDITION_FAILED");
    expect(executed.stateConflict).toBe(true);
    expect(await stateText()).toBe(before);
    expect(await projectFiles()).toEqual(["artifacts/"]);
  });

  test("is told to the engine again when it asks for the same call again", async () => {
    const changes = { toolCallId: "again" };
    const first = await callForEngine(
      "fs.apply_patch",
      patch({ variables: { set: { a: 1 } } }),
      conflict,
      changes,
    );
    const second = await callForEngine(
      "fs.apply_patch",
      patch({ variables: { set: { a: 1 } } }),
      conflict,
      changes,
    );
    expect(second.result).toEqual(first.result);
    expect(second.stateConflict).toBe(true);
  });

  test("does not matter to a file that is no new artifact", async () => {
    await writeFile(join(world.projectRoot, "artifacts", "old.md"), "old");
    for (const path of ["@project/artifacts/old.md", "@project/notes.md"]) {
      expect((await callForEngine("fs.write", { path, content: "x" }, conflict)).result.ok).toBe(true);
    }
  });

  test("that lists the artifact already is a conflict as well: the engine does not know what else it says", async () => {
    await writeFile(
      statePath(),
      (await stateText()).replace("artifacts: []", 'artifacts: ["artifacts/a.md"]'),
    );
    const executed = await callForEngine(
      "fs.write",
      { path: "@project/artifacts/a.md", content: "x" },
      conflict,
    );
    expect(executed).toMatchObject({ stateConflict: true, result: { ok: false } });
    expect(await projectFiles()).toEqual(["artifacts/"]);
  });
});

/** Leaves no room in the state document's front matter for anything more. */
async function fillFrontMatter(): Promise<void> {
  const text = await stateText();
  const [block = ""] = text.slice("---\n".length).split("---\n");
  const filling = "x".repeat(131_072 - Buffer.byteLength(block) - Buffer.byteLength('full: ""\n'));
  await writeFile(statePath(), text.replace("workflowType", `full: "${filling}"\nworkflowType`));
}

describe("artifacts", () => {
  test("a new file under the artifacts root is recorded once, by its project path without dot segments", async () => {
    const write = (path: string) => callForEngine("fs.write", { path, content: "x" }, { now: NOW });
    const first = await write("@project/./artifacts//deep/./a.md");
    expect(first.state).toEqual({ sha256: sha256(await stateText()), artifact: "artifacts/deep/a.md" });
    expect((await write("@project/artifacts/deep/a.md")).state).toBeUndefined();
    await write("@project/artifacts/b.md");
    expect(await frontmatter()).toMatchObject({
      artifacts: ["artifacts/deep/a.md", "artifacts/b.md"],
      updatedAt: NOW,
    });
  });

  test.each([
    "@project/a.md",
    "@project/artifacts.md",
    "@project/Artifacts/a.md",
    "@project/docs/artifacts/a.md",
  ])("%s is none", async (path) => {
    const before = await stateText();
    expect(await call("fs.write", { path, content: "x" })).toMatchObject({ ok: true });
    expect(await stateText()).toBe(before);
  });

  test("a file that is made again after it was deleted is not recorded twice", async () => {
    for (let n = 0; n < 2; n += 1) {
      await call("fs.write", { path: "@project/artifacts/a.md", content: "x" });
      await rm(join(world.projectRoot, "artifacts/a.md"));
    }
    expect(await frontmatter()).toMatchObject({ artifacts: ["artifacts/a.md"] });
  });

  test.each<[string, () => Promise<unknown>, string]>([
    [
      "the state document cannot be parsed",
      async () => writeFile(statePath(), "---\na: [\n---\n"),
      "E_INVALID_FRONTMATTER",
    ],
    [
      "the state document breaks the schema",
      async () => writeFile(statePath(), "---\na: 1\n---\n"),
      "E_SCHEMA_VALIDATION",
    ],
    ["the state document is gone", async () => rm(statePath()), "ENOENT"],
    [
      "the state document stands at no node",
      async () =>
        writeFile(statePath(), (await stateText()).replace('currentNodeId: ""', "currentNodeId: gone")),
      "E_INVALID_TRANSITION",
    ],
    ["its front matter is full", fillFrontMatter, "E_WRITE_LIMIT"],
    [
      "its place is taken",
      async () => {
        await rm(statePath());
        await mkdir(statePath());
      },
      "E_INTERNAL",
    ],
  ])("when %s, the new file is removed with its directories and the call fails", async (_, damage, code) => {
    await damage();
    const result = await call("fs.write", { path: "@project/artifacts/new/deep/a.md", content: "x" });
    expect(fault(result)?.code).toBe(code);
    expect(await projectFiles()).toEqual(["artifacts/"]);
    expect(await events()).toHaveLength(1);
  });

  test("eight new files at once are all recorded", async () => {
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        call("fs.write", { path: `@project/artifacts/${n}.md`, content: "x" }),
      ),
    );
    expect(((await frontmatter())["artifacts"] as readonly string[]).toSorted()).toEqual(
      Array.from({ length: 8 }, (_, n) => `artifacts/${n}.md`),
    );
  });
});

describe("equal call ids are one call", () => {
  test("a repetition gets the recorded result and has no effect, whatever it asks for", async () => {
    const first = await host.executeToolCall(
      request("fs.write", { path: "@project/a", content: "one" }, { toolCallId: "same" }),
    );
    await writeFile(join(world.projectRoot, "a"), "changed since");
    for (const again of [
      request("fs.write", { path: "@project/a", content: "two" }, { toolCallId: "same" }),
      request("fs.list", { path: "@project" }, { toolCallId: "same" }),
      request("no.tool", "{", { toolCallId: "same" }),
    ]) {
      expect(await host.executeToolCall(again)).toEqual(first);
      expect(await createToolHost({ store: world.store }).executeToolCall(again)).toEqual(first);
    }
    expect(await readFile(join(world.projectRoot, "a"), "utf8")).toBe("changed since");
    expect(await events()).toHaveLength(1);
  });

  test.each([
    ["writes", "fs.write", (n: number) => ({ path: "@project/artifacts/a.md", content: `${n}` })],
    [
      "patches",
      "fs.apply_patch",
      (n: number) => patch({ decisionLog: { append: [{ from: "draft", to: "done", label: `${n}` }] } }),
    ],
    ["reads", "fs.search", (n: number) => ({ path: "@project", pattern: `${n}` })],
    ["refusals", "fs.read", (n: number) => ({ path: `@project/none-${n}` })],
  ])("eight %s at once have one result between them", async (_, name, args) => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        host.executeToolCall(request(name, args(n), { toolCallId: "same" })),
      ),
    );
    expect(new Set(outcomes.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(await events()).toHaveLength(1);
    const { artifacts, decisionLog } = await frontmatter();
    expect([artifacts, decisionLog].flat().length).toBeLessThanOrEqual(1);
  });

  test("an attempt that planned its write and did it, but died before it said so, is found done", async () => {
    const path = { mount: "project", segments: ["artifacts", "a.md"] };
    const plan = { path, resolvedPath: path, created: true, sha256After: sha256("x"), bytes: 1 };
    await writeFile(join(world.projectRoot, "artifacts/a.md"), "x");
    await appendFile(join(files.stateDir, "..", "calls.jsonl"), `${JSON.stringify({ id: "cut", plan })}\n`);
    const executed = await callForEngine(
      "fs.write",
      { path: "@project/artifacts/a.md", content: "x" },
      {},
      { toolCallId: "cut" },
    );
    expect(executed).toMatchObject({
      result: { ok: true, bytesWritten: 1 },
      state: { artifact: "artifacts/a.md" },
    });
    expect(await frontmatter()).toMatchObject({ artifacts: ["artifacts/a.md"] });
  });

  const plansOf = async (id: string) => {
    const lines = await jsonLines(join(files.stateDir, "..", "calls.jsonl"));
    return lines.flatMap((line) => (line["id"] === id && line["plan"] !== undefined ? [line["plan"]] : []));
  };

  test("a new artifact and the version of the document that names it are planned at once", async () => {
    const asked = { path: "@project/artifacts/a.md", content: "x" };
    await callForEngine("fs.write", asked, { now: NOW }, { toolCallId: "whole" });
    const stateSha256After = sha256(await stateText());
    expect(await plansOf("whole")).toEqual([
      expect.objectContaining({ created: true, sha256After: sha256("x"), stateSha256After }),
    ]);
  });

  test("an attempt whose artifact is recorded and has gone makes the file again, and the record stays its own", async () => {
    const before = sha256(await stateText());
    const asked = { path: "@project/artifacts/a.md", content: "x" };
    await callForEngine("fs.write", asked, { now: NOW }, { toolCallId: "first" });
    const [plan] = await plansOf("first");
    const stateSha256After = sha256(await stateText());
    await rm(join(world.projectRoot, "artifacts/a.md"));
    await appendFile(
      join(files.stateDir, "..", "calls.jsonl"),
      `${JSON.stringify({ id: "cut", plan })}
`,
    );
    const knowledge = { stateSha256: before, now: "2027-01-01T00:00:00.000Z" };
    const executed = await callForEngine("fs.write", asked, knowledge, { toolCallId: "cut" });
    expect(executed).toMatchObject({ result: { ok: true }, state: { sha256: stateSha256After } });
    expect(await readFile(join(world.projectRoot, "artifacts/a.md"), "utf8")).toBe("x");
    // Should this attempt be cut short as well, the next one finds the document to be its own.
    expect((await plansOf("cut")).at(-1)).toMatchObject({ stateSha256After });
  });

  test("an attempt that planned its patch and saved it, but died before it said so, is not done twice", async () => {
    const before = await stateText();
    const args = patch({ decisionLog: { append: [{ from: "draft", to: "done", label: "x" }] } });
    await callForEngine("fs.apply_patch", args, { now: NOW }, { toolCallId: "first" });
    const after = await stateText();
    const plan = { sha256Before: sha256(before), sha256After: sha256(after) };
    await appendFile(join(files.stateDir, "..", "calls.jsonl"), `${JSON.stringify({ id: "cut", plan })}\n`);
    const knowledge = { stateSha256: sha256(before), now: "2027-01-01T00:00:00.000Z" };
    const executed = await callForEngine("fs.apply_patch", args, knowledge, { toolCallId: "cut" });
    expect(executed).toMatchObject({ result: { ok: true, ...plan }, state: { sha256: plan.sha256After } });
    expect(await stateText()).toBe(after);
  });

  test("an attempt that planned and did nothing else is done now", async () => {
    const plan = { sha256Before: sha256(await stateText()), sha256After: sha256("never written") };
    await appendFile(join(files.stateDir, "..", "calls.jsonl"), `${JSON.stringify({ id: "cut", plan })}\n`);
    const executed = await callForEngine(
      "fs.apply_patch",
      patch({ variables: { set: { a: 1 } } }),
      {},
      { toolCallId: "cut" },
    );
    expect(executed.result.ok).toBe(true);
    expect(await frontmatter()).toMatchObject({ variables: { a: 1 } });
  });

  test("the same id in another run is another call", async () => {
    const { store, projectRoot, packageId } = world;
    const other = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
    const made = request("fs.write", { path: "@project/a", content: "one" }, { toolCallId: "same" });
    await host.executeToolCall(made);
    await rm(join(projectRoot, "a"));
    await host.executeToolCall({ ...made, context: { ...made.context, runId: other.runId } });
    expect(await readFile(join(projectRoot, "a"), "utf8")).toBe("one");
  });
});

describe("the audit log", () => {
  test("has one line per call, with who, where, what and how long, and no contents", async () => {
    const content = `SECRET ${"x".repeat(300)}`;
    const made = request("fs_write", { path: "@project/artifacts/a.md", content });
    const { audit } = await host.executeForEngine(made, {});
    const [event] = await events();
    expect(event).toEqual({
      ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u),
      kind: "tool.exec",
      toolCallId: made.toolCallId,
      toolName: "fs.write",
      agentId: "author",
      nodeId: "draft",
      input: {
        path: "@project/artifacts/a.md",
        content: { bytes: 307, sha256: sha256(content), preview: `SECRET ${"x".repeat(53)}…` },
      },
      output: { ok: true, path: "@project/artifacts/a.md", bytesWritten: 307, sha256After: sha256(content) },
      durationMs: expect.any(Number),
      prev: "0".repeat(64),
    });
    expect(audit).toEqual({ lines: 1, sha256: sha256((await readFile(files.logFile, "utf8")).trimEnd()) });
  });

  test("names the node a call was made in, not the one it led to", async () => {
    await call("fs.apply_patch", patch({ currentNodeId: { set: "done" } }));
    await call("fs.list", { path: "@project" });
    expect((await events()).map(({ nodeId }) => nodeId)).toEqual(["draft", "done"]);
  });

  test("holds no file's contents that were read or found", async () => {
    await writeFile(join(world.projectRoot, "f"), "a line of the file\n".repeat(20));
    await call("fs.read", { path: "@project/f" });
    await call("fs.search", { path: "@project", pattern: "line" });
    const log = await readFile(files.logFile, "utf8");
    expect(log.match(/a line of the file/gu)?.length ?? 0).toBeLessThanOrEqual(8); // previews of sixty characters
    expect(log.length).toBeLessThan(3_000);
  });

  test("holds no secret, in arguments, variables or previews", async () => {
    await call("fs.write", { path: "@project/f", content: "API_KEY=sk-abcdefghijklmnopqrstuvwxyz" });
    await call(
      "fs.apply_patch",
      patch({ variables: { set: { password: "hunter2", note: "Bearer abcdefghijklmnop" } } }),
    );
    await call("sk-abcdefghijklmnopqrstuvwxyz", "{");
    expect(await readFile(files.logFile, "utf8")).not.toMatch(/abcdefghijkl|hunter2/u);
  });

  test.each(["\n", "\u2028", "\r\n{}", "\u0085", "\ud800", "\u001b[2J"])(
    "stays one physical line with %j in name, id and arguments",
    async (text) => {
      await host.executeToolCall(request(`tool${text}`, { [text]: text }, { toolCallId: `id${text}` }));
      await host.executeToolCall(request("fs.read", { path: `@project/${text}` }));
      const log = await readFile(files.logFile, "utf8");
      expect(log.split(/[\n\r\u2028\u2029\u0085]/u)).toHaveLength(3);
    },
  );

  test("is repaired after a torn line, and goes on", async () => {
    await call("fs.list", { path: "@project" });
    await appendFile(files.logFile, '{"ts":"2026');
    await call("fs.list", { path: "@project" });
    const kinds = (await readFile(files.logFile, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => /"kind":"([a-z.]+)"/u.exec(line)?.[1]);
    expect(kinds).toEqual(["tool.exec", undefined, "log.repaired", "tool.exec"]);
  });

  test("cannot be written, emptied or replaced by the model", async () => {
    await call("fs.list", { path: "@project" });
    for (const path of [
      "@state/logs/execution.jsonl",
      "@state/logs/./execution.jsonl",
      "@state/logs/new",
      "@state/logs",
    ]) {
      expect((await call("fs.write", { path, content: "" })).ok).toBe(false);
    }
    expect(await events()).toHaveLength(5);
  });
});

describe("the store is out of reach", () => {
  test("also where the project holds it", async () => {
    await symlink(world.store.dir, join(world.projectRoot, "store"));
    const { context } = request("fs.list", {});
    const { store, packageId } = world;
    const run = valueOf(
      await store.runs.createRun({ projectRoot: world.dir, packageId, activeAgentId: "author" }),
    );
    const inside = (name: string, args: object) =>
      host.executeToolCall(
        request(name, args, { context: { ...context, projectRoot: world.dir, runId: run.runId } }),
      );
    for (const path of ["@project/store/store.json", "@project/project/store/store.json"]) {
      expect(fault(await inside("fs.read", { path }))?.code).toBe("E_SANDBOX_VIOLATION");
      expect(fault(await inside("fs.write", { path, content: "{}" }))?.code).toBe("E_SANDBOX_VIOLATION");
    }
    expect(JSON.stringify(await inside("fs.search", { path: "@project", pattern: "storeId" }))).not.toContain(
      store.storeId,
    );
    await rm(join(world.projectRoot, "store"));
  });
});

test("a call of an execution that is over has no effect and no record, whatever it is", async () => {
  const { context } = request("fs.list", {});
  await files.executions.begin({ id: "b", startedAt: 1 }, true);
  const calls: readonly [string, object][] = [
    ["fs.write", { path: "@project/late.md", content: "late" }],
    [
      "fs.apply_patch",
      { path: "@state/workflow.md", patch: { update: { variables: { set: { late: 1 } } } } },
    ],
    ["fs.read", { path: "@state/workflow.md" }],
    ["fs.delete", {}],
  ];
  const document = valueOf(await files.state.read()).sha256;
  for (const [name, args] of calls) {
    const late = request(name, args, { context: { ...context, execution: 1 } });
    await expect(host.executeForEngine(late, {})).rejects.toThrow(ExecutionOver);
    expect(await files.calls.find(late.toolCallId)).toBeUndefined();
  }
  expect((await namesIn(world.dir)).filter((name) => name.endsWith("late.md"))).toEqual([]);
  expect(valueOf(await files.state.read()).sha256).toBe(document);
  expect(await jsonLines(files.logFile)).toEqual([]);
  const now = request(
    "fs.write",
    { path: "@project/now.md", content: "x" },
    { context: { ...context, execution: 2 } },
  );
  expect((await host.executeForEngine(now, {})).result.ok).toBe(true);
});
