// @module-tag slow
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, inject, test } from "vitest";
import type { FailpointName } from "../../src/core/failpoint.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { sharedBuild } from "../crash/shared-build.js";
import { type CrashStage, openCrashStage } from "../crash/crash-stage.js";
import { eventually } from "../fakes/eventually.js";
import { agentsWith } from "../fakes/mcp-world.js";
import { writePackage } from "../fakes/package-fixture.js";
import { isAlive } from "../fakes/processes.js";
import { valueOf } from "../fakes/run-world.js";
import { type ScriptedAnswer, type ScriptedCall, call, patch } from "../fakes/scripted-model.js";
import { freePort } from "../fakes/free-port.js";
import { twoNodePackage } from "../fakes/two-node-package.js";

/* Runs with servers that others have written and many people use: in the worker's process they meet SIGKILL and SIGSTOP. */

const binOf = (name: string) =>
  createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);

const build = sharedBuild();

interface Result {
  readonly ok: boolean;
  readonly content?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

interface Scene {
  readonly stage: CrashStage;
  /** The process ids that a server has had, in order. */
  readonly pidsOf: (server: string) => readonly number[];
  /** Waits until a worker that was armed to die has died, and starts the next one. */
  readonly afterDeath: (next?: { readonly name: FailpointName; readonly hit: number }) => Promise<void>;
  /** How often a call was made ready, by all workers. */
  readonly callsBegun: () => number;
}

interface Options {
  readonly servers: (dir: string) => Readonly<Record<string, object>>;
  /** What the model answers while it has the tools, one after the other. What it is given can be done something with before. */
  readonly answers: readonly (
    | readonly ScriptedCall[]
    | ((scene: Scene) => readonly ScriptedCall[] | Promise<readonly ScriptedCall[]>)
  )[];
  readonly firstWorker?: { readonly name: FailpointName; readonly hit: number };
  readonly meanwhile: (scene: Scene) => Promise<void>;
}

const ENDING: readonly ScriptedAnswer[] = [
  { calls: [patch({ stepsCompleted: { append: ["ask"] }, currentNodeId: { set: "middle" } })] },
  { calls: [patch({ stepsCompleted: { append: ["middle"] }, currentNodeId: { set: "finish" } })] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
];

/** Walks a run to its end. Gives the results that the model was shown, in the order of its calls. */
async function walk({ servers, answers, firstWorker, meanwhile }: Options): Promise<{
  readonly results: readonly Result[];
  readonly tools: readonly string[];
  /** The process ids that each server has had, in order. */
  readonly pids: Readonly<Record<string, readonly number[]>>;
}> {
  const results: Result[] = [];
  let requests = 0;
  const stage = await openCrashStage({
    address: inject("temporalAddress"),
    build,
    async onRequest(request) {
      const said = request.messages.findLastIndex(({ role }) => role === "assistant");
      const shown = request.messages.slice(said + 1).filter(({ role }) => role === "tool");
      if (requests <= answers.length) {
        results.push(...shown.map(({ content }) => JSON.parse(content ?? "") as Result));
      }
      const next = answers[requests];
      requests += 1;
      if (next === undefined) return ENDING[requests - 1 - answers.length];
      return { calls: typeof next === "function" ? await next(scene) : next };
    },
  });
  const pidFile = (server: string) => join(stage.dir, `${server}.pids`);
  const scene: Scene = {
    stage,
    pidsOf: (server) =>
      existsSync(pidFile(server)) ? readFileSync(pidFile(server), "utf8").trim().split("\n").map(Number) : [],
    async afterDeath(next) {
      await stage.victims.at(-1)?.ended;
      await stage.startVictim(next && { ...next, action: "kill" });
    },
    callsBegun: () =>
      readFileSync(stage.hitsFile, { encoding: "utf8", flag: "a+" }).split("tool.before-call\n").length - 1,
  };
  try {
    const notePid = join(stage.dir, "note-pid.mjs");
    writeFileSync(
      notePid,
      'import { appendFileSync } from "node:fs"; appendFileSync(process.env.PID_FILE, `${process.pid}\\n`);',
    );
    const named = servers(stage.dir);
    const mcpServers = Object.fromEntries(
      Object.entries(named).map(([name, server]) => {
        const { env = {} } = server as { env?: object };
        const noting = { PID_FILE: pidFile(name), NODE_OPTIONS: `--import=${pathToFileURL(notePid).href}` };
        return [name, "url" in server ? server : { ...server, env: { ...env, ...noting } }];
      }),
    );
    writeFileSync(join(stage.store.dir, "settings.json"), JSON.stringify({ mcpServers }));
    const agents = agentsWith({ author: Object.keys(mcpServers) });
    const source = await writePackage(join(stage.dir, "p"), twoNodePackage({ "agents.json": agents }));
    const { packageId } = valueOf(await stage.store.packages.install(source));
    await stage.startVictim(firstWorker && { ...firstWorker, action: "kill" });
    const run = await stage.client.start({ projectRoot: stage.projectRoot, packageId });
    await meanwhile(scene);
    await run.result();
    const { projectId } = valueOf(await stage.store.runs.findRun(run.runId));
    const { logFile } = valueOf(await stage.store.runs.openFiles(projectId, run.runId));
    const audit = await verifyAuditLog(logFile);
    if (audit.findings.length > 0) throw new Error(JSON.stringify(audit.findings));
    const events = readFileSync(logFile, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { kind: string; toolName?: string });
    const tools = events.flatMap(({ kind, toolName = "" }) =>
      kind === "tool.exec" && toolName.startsWith("mcp.") ? [toolName] : [],
    );
    const pids = Object.fromEntries(Object.keys(named).map((name) => [name, scene.pidsOf(name)]));
    return { results, tools, pids };
  } finally {
    await stage.close();
  }
}

const everything = () => ({ command: process.execPath, args: [binOf("everything")], timeoutSeconds: 30 });
const memory = (dir: string) => ({
  command: process.execPath,
  args: [binOf("memory")],
  env: { MEMORY_FILE_PATH: join(dir, "memory.jsonl") },
});
const files = () => ({ command: process.execPath, args: [binOf("filesystem"), "@project"] });

/** Changes nothing, and takes long enough for something to happen meanwhile, also on a busy machine. */
const aLongOne = (server: string, duration = 5) =>
  call(`mcp_${server}_trigger-long-running-operation`, { duration, steps: 1 });
const known = (name: string) =>
  call("mcp_memory_create_entities", {
    entities: [{ name, entityType: "person", observations: ["reads"] }],
  });
const graph = call("mcp_memory_read_graph", {});

describe.concurrent("a run with the public servers completes", () => {
  test("where its worker is killed in a call that changes nothing: it is made again, and no server outlives its worker", async ({
    expect,
  }) => {
    const { results, tools } = await walk({
      servers: (dir) => ({ everything: everything(), memory: memory(dir) }),
      answers: [[graph, aLongOne("everything")]],
      async meanwhile(scene) {
        await eventually(() => scene.callsBegun() === 2);
        const pids = [...scene.pidsOf("everything"), ...scene.pidsOf("memory")];
        expect(pids).toHaveLength(2);
        // One that does not even see that its input has closed.
        for (const pid of pids) process.kill(pid, "SIGSTOP");
        scene.stage.victims.at(-1)?.process.kill("SIGKILL");
        await scene.afterDeath();
        await eventually(() => pids.every((pid) => !isAlive(pid)));
      },
    });
    expect(results).toMatchObject([
      { ok: true },
      { ok: true, content: expect.stringContaining("operation completed") },
    ]);
    expect(tools).toEqual(["mcp.memory.read_graph", "mcp.everything.trigger-long-running-operation"]);
  });

  test("where its worker is killed in a call that changes something: it is made once at most, and the model looks", async ({
    expect,
  }) => {
    const { results, pids } = await walk({
      servers: (dir) => ({ memory: memory(dir) }),
      answers: [
        [known("Ada")], // made, and nobody heard of it
        [graph],
        [known("Bo")], // begun, and not made
        [graph],
        [known("Bo")],
      ],
      firstWorker: { name: "tool.answered", hit: 1 },
      async meanwhile({ afterDeath }) {
        await afterDeath({ name: "tool.before-call", hit: 2 });
        await afterDeath();
      },
    });
    const [ada, withAda, bo, withoutBo, again] = results;
    for (const result of [ada, bo]) {
      expect(result?.error?.code).toBe("TOOL_OUTCOME_UNKNOWN");
      expect(result?.error?.message).toContain("mcp.memory.read_graph");
    }
    expect(withAda?.content?.match(/"Ada"/g)).toHaveLength(1);
    expect(withoutBo?.content).not.toContain("Bo");
    expect(again?.ok).toBe(true);
    expect(pids["memory"]).toHaveLength(3);
  });

  test("where its worker is killed in calls on files: a move is made once, a write that says it may be is made again", async ({
    expect,
  }) => {
    const { results } = await walk({
      servers: () => ({ files: files() }),
      answers: [
        ({ stage }) => [
          call("mcp_files_write_file", { path: join(stage.projectRoot, "a.txt"), content: "a" }),
        ],
        ({ stage }) => [
          call("mcp_files_move_file", {
            source: join(stage.projectRoot, "a.txt"),
            destination: join(stage.projectRoot, "b.txt"),
          }),
        ],
        ({ stage }) => [call("mcp_files_list_directory", { path: stage.projectRoot })],
      ],
      firstWorker: { name: "tool.answered", hit: 1 },
      async meanwhile({ afterDeath }) {
        await afterDeath({ name: "tool.answered", hit: 2 });
        await afterDeath();
      },
    });
    const [written, moved, listed] = results;
    expect(written?.ok).toBe(true);
    expect(moved?.error?.code).toBe("TOOL_OUTCOME_UNKNOWN");
    expect(moved?.error?.message).toContain("mcp.files.list_directory");
    expect(listed?.content).toContain("b.txt");
    expect(listed?.content).not.toContain("a.txt");
  });

  test("where a server is killed or stopped in a call: the wait is bounded, the model is told, and it is begun again", async ({
    expect,
  }) => {
    const last = (pids: readonly number[]) => pids.at(-1) ?? 0;
    const { results, pids } = await walk({
      servers: (dir) => ({ everything: everything(), memory: { ...memory(dir), timeoutSeconds: 3 } }),
      answers: [
        [graph, aLongOne("everything")],
        ({ pidsOf }) => {
          process.kill(last(pidsOf("memory")), "SIGSTOP");
          return [known("Ada")];
        },
        [graph],
      ],
      async meanwhile({ callsBegun, pidsOf }) {
        await eventually(() => callsBegun() === 2);
        process.kill(last(pidsOf("everything")), "SIGKILL");
      },
    });
    const [, long, ada, after] = results;
    expect(long).toMatchObject({ ok: true, content: expect.stringContaining("operation completed") });
    expect(ada?.error?.message).toMatch(/not answered within 3 seconds.*mcp\.memory\.read_graph/);
    expect(ada?.error?.code).toBe("TOOL_OUTCOME_UNKNOWN");
    expect(after).toMatchObject({ ok: true });
    expect(after?.content).not.toContain("Ada");
    expect(pids["everything"]).toHaveLength(2);
    expect(pids["memory"]).toHaveLength(2);
  });

  test("over HTTP, where the worker is killed in a call, the server is killed in one, and begun again between two", async ({
    expect,
  }) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const begin = async () => {
      const server = spawn(process.execPath, [binOf("everything"), "streamableHttp"], {
        env: { PORT: String(port) },
        stdio: "ignore",
      });
      await eventually(() => fetch(url).then(Boolean, () => false));
      return server;
    };
    let server = await begin();
    const echo = call("mcp_web_echo", { message: "hi" });
    try {
      const { results } = await walk({
        servers: () => ({ web: { url, timeoutSeconds: 60 } }),
        answers: [
          [aLongOne("web")],
          [aLongOne("web", 60)],
          async () => {
            server = await begin();
            return [echo];
          },
          async () => {
            server.kill("SIGKILL");
            server = await begin(); // it does not know the session
            return [echo];
          },
        ],
        async meanwhile({ afterDeath, callsBegun, stage }) {
          await eventually(() => callsBegun() === 1);
          stage.victims.at(-1)?.process.kill("SIGKILL");
          await afterDeath();
          await eventually(() => callsBegun() === 3);
          server.kill("SIGKILL");
        },
      });
      const [repeated, gone, ...echoed] = results;
      expect(repeated).toMatchObject({ ok: true, content: expect.stringContaining("operation completed") });
      expect(gone?.error?.message).toMatch(/nothing listens there.*Nothing was done/);
      expect(echoed).toMatchObject([
        { ok: true, content: "Echo: hi" },
        { ok: true, content: "Echo: hi" },
      ]);
    } finally {
      server.kill("SIGKILL");
    }
  });
});
