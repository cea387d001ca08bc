import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { InterlockClient, type RunHandle } from "../../src/client/client.js";
import { loadConfig } from "../../src/config.js";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { acquireEmbeddedServer, type EmbeddedServer } from "../../src/embedded/server.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { type Store, openStore } from "../../src/store/store.js";
import { type RunningWorker, startWorker } from "../../src/worker.js";
import { type ChatRequestBody, ScriptedModel, call } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { intentOf, nodeOf, straightOn, wordsIn } from "../fakes/walk.js";
import { eventually } from "../fakes/eventually.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { temporaryDirectory, until, writeTree } from "./harness.js";
import { type Outcome, Shell, jsonOf } from "./shell.js";

/** Until the database is lost, runs go as far as their first words say. */
let isLost = false;
const requestsAfter: ChatRequestBody[] = [];

function answerTo(request: ChatRequestBody) {
  if (isLost) {
    requestsAfter.push(request);
    return straightOn(request);
  }
  const [words] = wordsIn(request);
  if (words === "wait") return { content: "Which colour?" };
  if (words === "fail") return { status: 401 };
  if (words !== "hang") return straightOn(request);
  const write = call("fs_write", { path: "@project/artifacts/hung.md", content: "written before\n" });
  if (request.messages.at(-1)?.role !== "tool") return { calls: [write] };
  return { status: 429, headers: { "retry-after": "3600" } };
}

let dir: string;
let store: Store;
let model: ScriptedModel;
let shell: Shell;
let server: EmbeddedServer;
let client: InterlockClient;
let worker: RunningWorker;
const runs: Record<string, RunHandle> = {};

async function serve(): Promise<void> {
  const { environment } = shell;
  server = await acquireEmbeddedServer({
    storeDir: store.dir,
    cacheDir: inject("cacheDir"),
    pathVariable: environment["PATH"] ?? "",
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  const connection = { address: server.address };
  client = await InterlockClient.connect({ connection, taskQueue: store.taskQueue });
  worker = await startWorker(loadConfig(environment), { connection, namespace: "default", store });
}

async function stop(): Promise<void> {
  await worker.shutdown();
  await client.close();
  await server.release();
}

beforeAll(async () => {
  quietRuntime();
  dir = await temporaryDirectory();
  model = await ScriptedModel.start(answerTo);
  shell = new Shell(dir, {
    INTERLOCK_MODEL: "scripted",
    INTERLOCK_PROJECT_ROOTS: dir,
    OPENAI_BASE_URL: model.baseUrl,
  });
  store = await openStore(join(dir, "store"));
  await mkdir(join(dir, "project"));
  await writeTree(join(dir, "package"), twoNodePackage());
  await serve();
  const installed = await store.packages.install(join(dir, "package"));
  if (!installed.ok) throw new Error(installed.error.message);
  const { packageId } = installed.value;
  for (const words of ["wait", "wait", "hang", "hang", "fail", "fail", "complete", "complete"]) {
    const name = runs[words] === undefined ? words : `${words} too`;
    runs[name] = await client.start({ projectRoot: join(dir, "project"), packageId, input: words });
  }
  await Promise.all([until(handle("wait"), "waiting-user"), until(handle("wait too"), "waiting-user")]);
  await Promise.all(["fail", "fail too", "complete", "complete too"].map((name) => ended(name)));
  for (const name of ["hang", "hang too"]) {
    await eventually(async () => (await handle(name).state()).turn === 2);
  }
  await stop();
  for (const name of await readdir(store.dir)) {
    if (name.startsWith("temporal.db")) await rm(join(store.dir, name));
  }
  isLost = true;
  await serve();
});

afterAll(async () => {
  await stop();
  await model.close();
  await rm(dir, { recursive: true, force: true });
});

function handle(name: string): RunHandle {
  const run = runs[name];
  if (run === undefined) throw new Error(`There is no run "${name}".`);
  return client.handle(run.runId);
}

const ended = (name: string) =>
  handle(name)
    .result()
    .catch(() => undefined);

async function filesOf({ runId }: RunHandle) {
  const found = await store.runs.findRun(runId);
  const files = found.ok ? await store.runs.openFiles(found.value.projectId, runId) : found;
  if (!files.ok) throw new Error(files.error.message);
  return files.value;
}

/** What `restore` of several runs says of each: its phase, or what went wrong. */
function restoredBy({ stdout }: Outcome) {
  const lines = stdout.trim().split("\n");
  return lines.map((line) => {
    const { runId, phase, error } = JSON.parse(line) as {
      runId: string;
      phase?: string;
      error?: { message: string };
    };
    return [runId, phase ?? error?.message];
  });
}

describe("when Temporal's database is gone", () => {
  test("the commands say so and name the way back", async () => {
    const { runId } = handle("wait too");
    const [status, retry, exported] = await Promise.all([
      shell.run(["status", runId, "--json"]),
      shell.run(["retry", runId]),
      shell.run(["export", runId, "--output", `lost-${randomUUID()}.zip`, "--json"]),
    ]);
    expect(jsonOf(status)).toMatchObject({ phase: "waiting-user", question: { text: "Which colour?" } });
    expect(status.stderr).toContain(`interlock restore ${runId}`);
    expect(retry.code).toBe(1);
    expect(retry.stderr).toContain(`interlock restore ${runId}`);
    expect(exported.stderr).toContain("Without Temporal's history");
    const { entries } = jsonOf(exported) as { entries: string[] };
    expect(entries).toContain("state/workflow.md");
    expect(entries).not.toContain("history.json");
  });

  test("a run that has completed is nobody's to begin again: what is told of it is what is kept", async () => {
    const { runId } = handle("complete too");
    const commands = ["status", "cancel", "retry", "replay"];
    const said = await shell.runEach(commands.map((command) => [command, runId]));
    expect(said.map(({ code }) => code)).toEqual([0, 1, 1, 1]);
    for (const { stderr } of said) expect(stderr).not.toContain("interlock restore");
    for (const { stderr } of said.slice(1)) {
      expect(stderr).toContain(`It has completed, and its files are kept: interlock status ${runId}`);
    }
  });

  test("a run can be forked", async () => {
    const { runId } = handle("wait too");
    const outcome = await shell.run(["fork", runId, "--at-visit", "0", "--json"]);
    expect(outcome.code).toBe(0);
    expect(jsonOf(outcome)).toMatchObject({ phase: "completed", forkedFrom: { runId, visit: 0 } });
  });

  test("every run is started again at its node, and completes", async () => {
    const before = requestsAfter.length;
    const open = ["wait", "wait too", "hang", "hang too"];
    const all = await shell.run(["restore", "--all", "--json"]);
    expect(all).toMatchObject({ code: 0, stderr: "" });
    expect(new Set(restoredBy(all))).toEqual(new Set(open.map((name) => [handle(name).runId, "running"])));
    const over = ["fail", "fail too", "complete"];
    const unknown = randomUUID();
    const [first = "", ...rest] = over.map((name) => handle(name).runId);
    const several = await shell.run(["restore", first, unknown, first, ...rest, "--json"]);
    expect(several).toMatchObject({ code: 1, stderr: "" });
    expect(restoredBy(several)).toEqual([
      [first, "running"],
      [unknown, `There is no run "${unknown}" in this store. See: interlock runs`],
      ...rest.map((runId) => [runId, "running"]),
    ]);
    const names = [...open, ...over];
    const results = await Promise.all(names.map((name) => handle(name).result()));
    expect(results.map(({ stepsCompleted }) => stepsCompleted)).toEqual(
      names.map(() => ["ask", "middle", "finish"]),
    );
    const asked = requestsAfter.slice(before).filter((request) => nodeOf(request) === "ask");
    expect(asked.map((request) => intentOf(request))).toEqual(Array(6).fill("resume"));
    expect(asked.flatMap((request) => wordsIn(request)).sort()).toEqual([
      "fail",
      "fail",
      "hang",
      "hang",
      "wait",
      "wait",
    ]);
    for (const name of names) {
      const { logFile, status } = await filesOf(handle(name));
      expect((await verifyAuditLog(logFile, await handle(name).auditHead())).findings).toEqual([]);
      expect(await status.read()).toMatchObject({ phase: "completed" });
    }
    const hung = (await handle("hang").result()).usage;
    expect(hung).toMatchObject({ modelTurns: 4, toolCalls: 4 }); // the turn before the loss included
    expect(await shell.run(["restore", "--all", "--json"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("Nothing is to be restored") as string,
    });
  });

  test("the command follows a single run, and refuses one that Temporal knows", async () => {
    const { runId } = handle("complete too");
    const restored = await shell.run(["restore", runId, "--json"]);
    expect(restored.code).toBe(0);
    expect(jsonOf(restored)).toMatchObject({ runId, phase: "completed" });
    const again = await shell.run(["restore", runId]);
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toContain(`Temporal knows run ${runId}: it is completed.`);
    const [none, both] = await Promise.all([shell.run(["restore"]), shell.run(["restore", runId, "--all"])]);
    expect([none.code, both.code]).toEqual([2, 2]);
    expect(none.stderr).toContain("their ids, or --all");
  });

  test("a run folder that does not say what the run was started with says what is missing", async () => {
    const { dir: runDir, stateDir } = await filesOf(handle("fail"));
    expect(dirname(stateDir)).toBe(runDir);
    await writeFile(join(runDir, "run.json"), "{");
    const outcome = await shell.run(["restore", handle("fail").runId]);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain(join(runDir, "run.json"));
    expect(outcome.stderr).toContain("is missing or damaged");
  });
});
