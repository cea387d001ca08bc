import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient } from "../../src/client/client.js";
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

const RUNS = 12;

function answerTo({ messages }: ChatRequestBody): ScriptedAnswer {
  const brief = messages.find(({ content }) => content?.startsWith("NODE_BRIEF"))?.content ?? "";
  const nodeId = /currentNodeId: (\S+)/.exec(brief)?.[1] ?? "";
  if (!messages.some(({ role }) => role === "assistant")) {
    const paths = ["@pkg/bmad.json", "@pkg/agents.json", "@pkg/workflow.md", "@state/workflow.md"];
    return { calls: paths.map((path) => call("fs_read", { path })) };
  }
  const next = { ask: "middle", middle: "finish" }[nodeId];
  const move = next === undefined ? {} : { currentNodeId: { set: next } };
  return { calls: [patch({ stepsCompleted: { append: [nodeId] }, ...move })] };
}

/** `interlock worker` in a shell that may open few files. */
function workerWith(limit: number, environment: Record<string, string>) {
  const child = spawn(
    "bash",
    ["-c", `ulimit -n ${limit}; exec "$0" "$@"`, process.execPath, MAIN, "worker"],
    {
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let said = "";
  const polls = new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("polls")) resolve();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", () => reject(new Error(`The worker has ended: ${said}`)));
  });
  polls.catch(() => undefined);
  return { child, polls, said: () => said };
}

async function scene() {
  const dir = await temporaryDirectory();
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const taskQueue = `test-${randomUUID()}`;
  const store = await openStore(join(dir, "store"), taskQueue);
  await writeTree(join(dir, "package"), twoNodePackage());
  const installed = await store.packages.install(join(dir, "package"));
  if (!installed.ok) throw new Error(installed.error.message);
  const environment = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    INTERLOCK_STORE: join(dir, "store"),
    INTERLOCK_PROJECT_ROOTS: dir,
    INTERLOCK_MODEL: "scripted",
    TEMPORAL_ADDRESS: inject("temporalAddress"),
  };
  return { dir, taskQueue, environment, packageId: installed.value.packageId };
}

test("a worker that may open few files takes less at once, says so, and its runs complete", async () => {
  const { dir, taskQueue, environment, packageId } = await scene();
  const model = await ScriptedModel.start(answerTo);
  onTestFinished(() => model.close());
  const worker = workerWith(160, { ...environment, OPENAI_BASE_URL: model.baseUrl });
  await worker.polls;
  const address = inject("temporalAddress");
  const client = await InterlockClient.connect({ connection: { address }, taskQueue });
  onTestFinished(() => client.close());
  const runs = [];
  for (let index = 0; index < RUNS; index += 1) {
    const projectRoot = join(dir, `project-${index}`);
    await mkdir(projectRoot);
    runs.push(await client.start({ projectRoot, packageId }));
  }
  for (const run of runs) {
    expect(await run.result()).toMatchObject({ stepsCompleted: ["ask", "middle", "finish"] });
  }
  expect(worker.said()).toMatch(
    /may open 160 files and connections, so the worker runs \d+ tasks at once instead of 128/u,
  );
  expect(worker.child.exitCode).toBeNull();
});

test.each([64, 110])(
  "a worker that may open %i files ends with a sentence that names the remedy",
  async (limit) => {
    const { environment } = await scene();
    const worker = workerWith(limit, environment);
    const [code] = await once(worker.child, "exit");
    expect([code, worker.said()]).toEqual([1, expect.stringMatching(/ulimit -n \d+/u)]);
    expect(worker.said().trim().split("\n")).toHaveLength(1);
  },
);
