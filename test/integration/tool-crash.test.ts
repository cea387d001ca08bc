// @module-tag slow
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { sharedBuild } from "../crash/shared-build.js";
import { openCrashStage } from "../crash/crash-stage.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { FAKE_MCP_SERVER, agentsWith } from "../fakes/mcp-world.js";
import { eventually } from "../fakes/eventually.js";
import { writePackage } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import { type ChatRequestBody, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";

const build = sharedBuild();

const SCRIPT = [
  { calls: [call("mcp_s_act", { how: "wait" })] },
  { calls: [call("mcp_s_look", { how: "wait" })] },
  { calls: [call("mcp_s_set", { how: "wait" })] },
  { calls: [patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "middle" } })] },
  { calls: [patch({ stepsCompleted: { append: ["middle"] }, currentNodeId: { set: "finish" } })] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

const lastResult = ({ messages }: ChatRequestBody) =>
  messages.findLast(({ role }) => role === "tool")?.content ?? "";

test("a worker killed in a call: what may have an effect is not called again and the model is told; the rest is repeated", async () => {
  const requests: ChatRequestBody[] = [];
  let flag = "";
  const stage = await openCrashStage({
    address: inject("temporalAddress"),
    build,
    onRequest(request) {
      requests.push(request);
      rmSync(flag, { force: true }); // the next call waits
      return SCRIPT[requests.length - 1];
    },
  });
  const log = join(stage.dir, "log");
  flag = join(stage.dir, "flag");
  const lines = (): readonly string[] => readFileSync(log, { encoding: "utf8", flag: "a+" }).split("\n");
  const server = { command: process.execPath, args: [FAKE_MCP_SERVER, "plain", log, flag] };
  writeFileSync(join(stage.store.dir, "settings.json"), JSON.stringify({ mcpServers: { s: server } }));
  try {
    const source = await writePackage(
      join(stage.dir, "p"),
      twoNodePackage({ "agents.json": agentsWith({ author: ["s"] }) }),
    );
    const { packageId } = valueOf(await stage.store.packages.install(source));
    await stage.startVictim();
    const run = await stage.client.start({ projectRoot: stage.projectRoot, packageId });

    /** Kills the worker once the tool was called, and lets what is called after that answer. */
    async function killIn(tool: string): Promise<void> {
      await eventually(() => lines().includes(`called ${tool}`));
      const victim = stage.victims.at(-1);
      victim?.process.kill("SIGKILL");
      await victim?.ended;
      await eventually(() => lines().at(-2) === "ended"); // the server goes with its worker
      writeFileSync(flag, "");
      await stage.startVictim();
    }
    await killIn("act");
    await killIn("look");
    await killIn("set");
    await run.result();

    expect(lines().filter((line) => line.startsWith("called"))).toEqual([
      "called act",
      "called look",
      "called look",
      "called set",
      "called set",
    ]);
    const [, afterAct, afterLook, afterSet] = requests;
    expect(JSON.parse(lastResult(afterAct ?? { model: "", messages: [] }))).toMatchObject({
      error: { code: "TOOL_OUTCOME_UNKNOWN" },
    });
    expect(lastResult(afterAct ?? { model: "", messages: [] })).toContain("mcp.s.look");
    for (const request of [afterLook, afterSet])
      expect(lastResult(request ?? { model: "", messages: [] })).toContain("waited");
    const files = valueOf(
      await stage.store.runs.openFiles(
        valueOf(await stage.store.runs.findRun(run.runId)).projectId,
        run.runId,
      ),
    );
    expect((await verifyAuditLog(files.logFile)).findings).toEqual([]);
    const events = readFileSync(files.logFile, "utf8")
      .split("\n")
      .filter((line) => line.includes('"toolName":"mcp.s.'));
    expect(events).toHaveLength(3);
  } finally {
    await stage.close();
  }
}, 600_000);
