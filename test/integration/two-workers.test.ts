import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient, type RunHandle } from "../../src/client.js";
import { verifyAuditLog } from "../../src/store/audit-verify.js";
import { openStore } from "../../src/store/store.js";
import {
  type ChatRequestBody,
  type ScriptedAnswer,
  ScriptedModel,
  call,
  patch,
} from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { temporaryDirectory, writeTree } from "./harness.js";
import { MAIN } from "./shell.js";

const RUNS = 8;
const REQUESTS_BEFORE_KILL = 20;

/** What the node at hand wants next: told by the conversation, so that a repeated request gets the same answer. */
function answerTo({ messages }: ChatRequestBody): ScriptedAnswer {
  const brief = messages.find(({ content }) => content?.startsWith("NODE_BRIEF"))?.content ?? "";
  const nodeId = /currentNodeId: (\S+)/.exec(brief)?.[1] ?? "";
  const turn = messages.filter(({ role }) => role === "assistant").length;
  if (turn < 2)
    return { calls: [call("fs_list", { path: "@pkg" }), call("fs_read", { path: "@pkg/bmad.json" })] };
  if (turn === 2)
    return { calls: [call("fs_write", { path: `@project/artifacts/${nodeId}.md`, content: nodeId })] };
  const next = { ask: "middle", middle: "finish" }[nodeId];
  const move = next === undefined ? {} : { currentNodeId: { set: next } };
  return { calls: [patch({ stepsCompleted: { append: [nodeId] }, ...move })] };
}

/** `interlock worker`, as an operator starts it. */
async function startWorkerProcess(environment: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, "worker"], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("polls")) resolve();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", () => reject(new Error(`The worker has ended: ${said}`)));
  });
  return child;
}

/** Which processes have worked on a run, as Temporal's history names them. */
async function workersOf(run: RunHandle): Promise<readonly string[]> {
  const history = await run.history();
  return (history.events ?? []).flatMap(
    (event) => event.workflowTaskCompletedEventAttributes?.identity ?? [],
  );
}

describe("two workers on one store", () => {
  test("share its runs, and when one is killed the other one ends them all", async () => {
    const dir = await temporaryDirectory();
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const address = inject("temporalAddress");
    const taskQueue = `test-${randomUUID()}`;
    const store = await openStore(join(dir, "store"), taskQueue);
    await writeTree(join(dir, "package"), twoNodePackage());
    const installed = await store.packages.install(join(dir, "package"));
    if (!installed.ok) throw new Error(installed.error.message);

    let heard = 0;
    let killNow: () => void = () => undefined;
    const timeToKill = new Promise<void>((resolve) => {
      killNow = resolve;
    });
    const model = await ScriptedModel.start((request) => {
      heard += 1;
      if (heard === REQUESTS_BEFORE_KILL) killNow();
      return answerTo(request);
    });
    onTestFinished(() => model.close());
    const environment = {
      PATH: process.env["PATH"] ?? "",
      HOME: dir,
      INTERLOCK_STORE: join(dir, "store"),
      INTERLOCK_PROJECT_ROOTS: dir,
      INTERLOCK_MODEL: "scripted",
      OPENAI_BASE_URL: model.baseUrl,
      TEMPORAL_ADDRESS: address,
    };
    const [first, second] = await Promise.all([
      startWorkerProcess(environment),
      startWorkerProcess(environment),
    ]);
    const client = await InterlockClient.connect({ connection: { address }, taskQueue });
    onTestFinished(() => client.close());
    const runs: RunHandle[] = [];
    for (let index = 0; index < RUNS; index += 1) {
      const projectRoot = join(dir, `project-${index}`);
      await mkdir(projectRoot);
      runs.push(await client.start({ projectRoot, packageId: installed.value.packageId }));
    }
    await timeToKill;
    first.kill("SIGKILL");
    await once(first, "exit");

    for (const run of runs) {
      expect(await run.result()).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
      const found = await store.runs.findRun(run.runId);
      const files = found.ok ? await store.runs.openFiles(found.value.projectId, run.runId) : found;
      if (!files.ok) throw new Error(files.error.message);
      const verdict = await verifyAuditLog(files.value.logFile, await run.auditHead());
      expect(verdict.findings).toEqual([]);
    }
    const identities = new Set((await Promise.all(runs.map(workersOf))).flat());
    expect([...identities].some((identity) => identity.startsWith(`${first.pid}@`))).toBe(true);
    expect([...identities].some((identity) => identity.startsWith(`${second.pid}@`))).toBe(true);
  });
});
