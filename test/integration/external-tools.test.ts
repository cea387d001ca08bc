import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { FAKE_MCP_SERVER, agentsWith } from "../fakes/mcp-world.js";
import { eventually } from "../fakes/eventually.js";
import { type ChatRequestBody, type ScriptedAnswer, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench } from "./harness.js";

function serverOf(manner: string, more: object = {}) {
  const dir = mkdtempSync(join(tmpdir(), "interlock-it-mcp-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [log, flag, settings] = ["log", "flag", "settings.json"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  const server = {
    command: process.execPath,
    args: [FAKE_MCP_SERVER, manner, log, flag],
    timeoutSeconds: 2,
    ...more,
  };
  writeFileSync(settings, JSON.stringify({ mcpServers: { s: server } }));
  return { INTERLOCK_SETTINGS: settings, flag, log };
}

const toolsOf = (request: ChatRequestBody | undefined) =>
  (request?.tools ?? []).map((tool) => tool.function.name).filter((name) => !name.startsWith("fs_"));
const resultsOf = (request: ChatRequestBody | undefined) =>
  (request?.messages ?? [])
    .filter(({ role }) => role === "tool")
    .map(
      ({ content }) =>
        JSON.parse(content ?? "") as {
          ok: boolean;
          content?: string;
          error?: { code: string; message: string };
        },
    );

const on = (node: string, next?: string) =>
  patch({
    stepsCompleted: { append: [node] },
    ...(next === undefined ? {} : { currentNodeId: { set: next } }),
  });

test(
  "tools of a server are offered by policy as they are at each turn, called, bounded and recorded",
  { tags: "slow" },
  async () => {
    const { flag, log, INTERLOCK_SETTINGS } = serverOf("changing");
    const script = [
      {
        calls: [
          call("mcp_s_look", { how: "long" }),
          call("mcp.s.look", { how: "picture" }),
          call("mcp_s_act", { how: "fail" }),
          call("mcp_s_act", { how: "hang" }),
          call("mcp_s_act", [1]),
          call("mcp_s_none", {}),
        ],
      },
      { calls: [call("mcp_s_look", { how: "change" })] },
      { calls: [call("mcp_s_act", {}), call("mcp_s_later", { a: 1 }), on("ask", "middle")] },
      { calls: [on("middle", "finish")] },
      { calls: [call("mcp_s_look", {})] },
    ];
    const answer = (_: ChatRequestBody, index: number): ScriptedAnswer => {
      if (index === 1) writeFileSync(flag, ""); // what the server offers changes while this turn goes on
      return script[index] ?? { calls: [on("finish")] };
    };
    const { model, ...bench } = await openBench(answer, { INTERLOCK_SETTINGS });
    const run = await bench.start(twoNodePackage({ "agents.json": agentsWith({ author: ["s", "absent"] }) }));
    await run.result();

    expect(model.requests.map(toolsOf)).toEqual([
      ["mcp_s_act", "mcp_s_look"],
      ["mcp_s_act", "mcp_s_look"],
      ["mcp_s_later", "mcp_s_look"],
      ["mcp_s_later", "mcp_s_look"],
      [],
      [],
    ]);
    const [long, picture, failed, hung, wrong, none] = resultsOf(model.requests[1]);
    expect(long).toMatchObject({ ok: true, bytes: 2_000_000, truncated: true });
    expect(Buffer.byteLength(long?.content ?? "")).toBeLessThanOrEqual(50_000);
    expect(picture).toMatchObject({
      ok: true,
      content:
        "[image image/png is left out]\n[a part that cannot be read is left out]\nand \\u{202e}text\ta\r\nb\n" +
        "[resource application/x file:///x is left out]\nwords\n[a link to z, demo://z]",
    });
    expect(failed?.error).toMatchObject({
      code: "TOOL_FAILED",
      details: { content: expect.stringContaining("no \\u{202e}way") },
    });
    expect(hung?.error?.code).toBe("TOOL_OUTCOME_UNKNOWN");
    expect(hung?.error?.message).toContain("mcp.s.look");
    expect(wrong?.error?.code).toBe("TOOL_ARGS_INVALID");
    expect(none?.error?.code).toBe("TOOL_NOT_AVAILABLE");
    const events = await bench.auditEvents(run);
    const [gone] = events.filter(({ toolName }) => toolName === "mcp_s_act");
    const [later] = events.filter(({ toolName }) => toolName === "mcp.s.later");
    expect(gone).toMatchObject({ output: { ok: false, error: { code: "TOOL_NOT_AVAILABLE" } } });
    expect(later).toMatchObject({ output: { ok: true } });
    expect(resultsOf(model.requests[5])[0]?.error?.code).toBe("TOOL_NOT_AVAILABLE");

    // One event for each call, under the tool's own name; what a server says of itself is in no history.
    const files = await bench.filesOf(run);
    expect((await verifyAuditLog(files.logFile)).findings).toEqual([]);
    const calls = events.filter(({ kind }) => kind === "tool.exec");
    expect(calls.filter(({ toolName }) => toolName === "mcp.s.act")).toHaveLength(3);
    const said = await files.conversation("visit-1").entries();
    expect(
      said.flatMap((entry) =>
        entry.type === "assistant" && entry.offered !== undefined ? [entry.offered] : [],
      ),
    ).toEqual([
      ["mcp_s_act", "mcp_s_look"],
      ["mcp_s_later", "mcp_s_look"],
    ]);
    expect((await readFile(log, "utf8")).split("\n").filter((line) => line.startsWith("begun"))).toHaveLength(
      1,
    );
    const history = JSON.stringify(
      await bench.client.temporal.workflow.getHandle(`run-${run.runId}`).fetchHistory(),
    );
    expect(history).not.toContain("image/png");
  },
);

test("a cancelled run waits for no tool: what may have taken effect is recorded as unknown", async () => {
  const { log, INTERLOCK_SETTINGS } = serverOf("plain", { timeoutSeconds: 3_600 });
  const bench = await openBench([{ calls: [call("mcp_s_act", { how: "hang" })] }], { INTERLOCK_SETTINGS });
  const run = await bench.start(twoNodePackage({ "agents.json": agentsWith({ author: ["s"] }) }));
  await eventually(async () => (await readFile(log, "utf8").catch(() => "")).includes("called act"));
  await bench.client.temporal.workflow.getHandle(`run-${run.runId}`).cancel();
  await run.result().catch(() => undefined);
  const calls = (await bench.auditEvents(run)).filter(({ kind }) => kind === "tool.exec");
  expect(calls).toMatchObject([
    { toolName: "mcp.s.act", output: { error: { code: "TOOL_OUTCOME_UNKNOWN" } } },
  ]);
  await eventually(async () => (await readFile(log, "utf8")).includes("cancelled"));
});
