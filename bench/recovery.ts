import { randomUUID } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { tryLock } from "fs-native-extensions";
import { InterlockClient, type RunHandle } from "../src/client/client.js";
import { loadConfig } from "../src/config.js";
import { SEARCH_ATTRIBUTES } from "../src/contract/names.js";
import { acquireEmbeddedServer } from "../src/embedded/server.js";
import { type Store, openStore } from "../src/store/store.js";
import { type Child, startChild } from "./child-process.js";
import { describeEnvironment } from "./environment.js";
import type { InterlockWorkerSettings } from "./interlock-worker.js";
import { type Answer, RecoveryModel } from "./recovery-model.js";
import { spreadOf } from "./statistics.js";
import { commandLine, positionals } from "./usage.js";
import { writeWalkPackage } from "./walk-package.js";

/*
 * Kills the only worker with SIGKILL, starts another one at once, and measures how long it takes until the run asks
 * the model again: from the moment the new worker polls, and from the death.
 */

const ROUNDS = 3;
/** What the issue asks for. */
const TARGET_SECONDS = 10;

interface Scene {
  readonly run: RunHandle;
  readonly model: RecoveryModel;
  /** The run's folder in the store. */
  readonly runDir: string;
  readonly kill: () => Promise<void>;
}

interface Situation {
  readonly name: string;
  /** The model's answers until the worker dies; the request after them is where the run goes on. */
  readonly answers: readonly Answer[];
  /** Kills the worker when the run is where it is to die; gives what has to be done when a worker is back. */
  readonly die: (scene: Scene) => Promise<(() => Promise<void>) | undefined>;
}

const PATCH: Answer = {
  name: "fs_apply_patch",
  arguments: {
    path: "@state/workflow.md",
    patch: { operation: "updateFrontmatter", update: { variables: { set: { at: "work" } } } },
  },
};
const WRITE: Answer = {
  name: "fs_write",
  arguments: { path: "@project/artifacts/node-001.md", content: "one\n" },
};

const SITUATIONS: readonly Situation[] = [
  {
    name: "in a model call",
    answers: [],
    async die({ model, kill }) {
      await model.isAsked(1);
      await kill();
      return undefined;
    },
  },
  {
    name: "eight seconds into a model call",
    answers: [],
    async die({ model, kill }) {
      await model.isAsked(1);
      await pause(8_000);
      await kill();
      return undefined;
    },
  },
  { name: "in a tool call (fs.write)", answers: [WRITE], die: dieBehindTheLock },
  { name: "in a save of the state document", answers: [PATCH], die: dieBehindTheLock },
  {
    name: "while waiting for an answer",
    answers: ["Which colour?"],
    async die({ run, kill }) {
      while ((await run.state()).phase !== "waiting-user") await pause(20);
      await pause(500); // the change of phase has been reported
      await kill();
      return () => run.answer({ nodeId: "node-001", text: "Blue." });
    },
  },
];

/** A call that changes files waits for the run's state lock: there it is killed. */
async function dieBehindTheLock({ model, runDir, kill }: Scene): Promise<undefined> {
  await model.isAsked(1);
  await pause(500);
  await kill();
  closeSync(openLocks.get(runDir) ?? -1);
  openLocks.delete(runDir);
}

const openLocks = new Map<string, number>();

interface Stage {
  readonly dir: string;
  readonly store: Store;
  readonly packageId: string;
  readonly server: { readonly address: string; readonly namespace: string };
  readonly client: InterlockClient;
}

async function measure(stage: Stage, situation: Situation): Promise<{ back: number; dead: number }> {
  const { client, store, packageId } = stage;
  const model = await RecoveryModel.start(situation.answers);
  let worker: Child | undefined = await startWorker(stage, model.baseUrl);
  try {
    const projectRoot = join(stage.dir, randomUUID());
    await mkdir(projectRoot);
    const runId = randomUUID();
    const made = await store.runs.createRun({ projectRoot, packageId, activeAgentId: "walker", runId });
    if (!made.ok) throw new Error(made.error.message);
    const runDir = join(store.dir, "projects", made.value.projectId, "runs", runId);
    if (situation.die === dieBehindTheLock) openLocks.set(runDir, holdStateLock(runDir));
    const run = await client.start({ runId, projectRoot, packageId, storeId: store.storeId });
    let deadAt = 0;
    const kill = async () => {
      deadAt = performance.now();
      await worker?.kill();
      worker = undefined;
    };
    const afterwards = await situation.die({ run, model, runDir, kill });
    const asked = model.requestCount;
    worker = await startWorker(stage, model.baseUrl);
    const backAt = performance.now();
    await Promise.all([afterwards?.(), model.isAsked(asked + 1)]);
    const now = performance.now();
    await client.temporal.workflow.getHandle(`run-${runId}`).terminate();
    return { back: (now - backAt) / 1_000, dead: (now - deadAt) / 1_000 };
  } finally {
    await worker?.kill();
    await model.close();
  }
}

function holdStateLock(runDir: string): number {
  const fd = openSync(join(runDir, "state.lock"), "a", 0o600);
  if (!tryLock(fd)) throw new Error("The state lock is taken.");
  return fd;
}

function startWorker(stage: Stage, baseUrl: string): Promise<Child> {
  return startChild("./interlock-worker.js", {
    ...stage.server,
    variables: {
      INTERLOCK_STORE: stage.store.dir,
      INTERLOCK_PROJECT_ROOTS: dir,
      INTERLOCK_MODEL: "scripted",
      OPENAI_BASE_URL: baseUrl,
    },
  } satisfies InterlockWorkerSettings);
}

commandLine("Usage: npm run bench:recovery", (args) => positionals(args, 0));

const dir = await mkdtemp(join(tmpdir(), "interlock-recovery-"));
const names = ["PATH", "HOME", "INTERLOCK_CACHE", "INTERLOCK_TEMPORAL_CLI"];
const variables = Object.fromEntries(
  names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
);
const config = loadConfig({ ...variables, INTERLOCK_STORE: join(dir, "store") });
const store = await openStore(config.storeDir);
const server = await acquireEmbeddedServer({
  ...(config.temporalCli === undefined ? {} : { cliPath: config.temporalCli }),
  pathVariable: config.pathVariable,
  cacheDir: config.cacheDir,
  storeDir: store.dir,
  searchAttributes: SEARCH_ATTRIBUTES,
  onProgress: (line) => process.stderr.write(`${line}\n`),
});
try {
  const { address, namespace } = server;
  await writeWalkPackage(join(dir, "package"), 2);
  const installed = await store.packages.install(join(dir, "package"));
  if (!installed.ok) throw new Error(installed.error.message);
  const client = await InterlockClient.connect({
    connection: { address },
    namespace,
    taskQueue: store.taskQueue,
  });
  const { packageId } = installed.value;
  const stage: Stage = { dir, store, packageId, server: { address, namespace }, client };
  const { node, cores, load } = describeEnvironment();
  process.stdout.write(
    `Node ${node}, ${cores} cores, load ${load.toFixed(1)}. Seconds until the run goes on:\n`,
  );
  for (const situation of SITUATIONS) {
    const times: { back: number; dead: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) times.push(await measure(stage, situation));
    const back = spreadOf(times.map((time) => time.back));
    const dead = spreadOf(times.map((time) => time.dead));
    const text = (value: number) => value.toFixed(1);
    process.stdout.write(
      `${situation.name}: ${text(back.median)} (${text(back.min)} to ${text(back.max)}) after a worker is back, ${text(dead.median)} after the death${back.max > TARGET_SECONDS ? ", MISSED" : ""}\n`,
    );
  }
  await client.close();
} finally {
  await server.release();
  await rm(dir, { recursive: true, force: true });
}
