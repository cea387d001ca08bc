import { randomUUID } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { inject, onTestFinished } from "vitest";
import { InterlockClient, type RunHandle, type StartBundleRun, type StartRun } from "../../src/client.js";
import { loadConfig } from "../../src/config.js";
import { parseFrontMatter } from "../../src/store/front-matter.js";
import type { RunFiles } from "../../src/store/run-files.js";
import { type Store, openStore } from "../../src/store/store.js";
import { startWorker } from "../../src/worker.js";
import { readTree } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import { type Script, ScriptedModel } from "../fakes/scripted-model.js";

let runtimeInstalled = false;
/** That of the build: bundling the source takes seconds of each test file. */
const workflowBundle = {
  codePath: fileURLToPath(new URL("../../dist/workflow-bundle.cjs", import.meta.url)),
};

/** A worker of its own store on the suite's real server, with a scripted model over HTTP. */
export interface Bench {
  readonly client: InterlockClient;
  readonly store: Store;
  readonly model: ScriptedModel;
  readonly projectRoot: string;
  /** As a user of the command line would set them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Stops the worker and lets another one take its place. */
  startAnotherWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  filesOf(run: { readonly runId: string }): Promise<RunFiles>;
  /** A directory of the test's own; the project, the store and the copied bundle lie in it. */
  readonly dir: string;
  /** Installs a package from files and starts a run of it. */
  start(files: Record<string, string>, request?: Partial<StartRun>): Promise<RunHandle>;
  /** Starts a run of the example bundle's intake workflow with its agent, on a copy with these files over it. */
  startBundle(request?: Partial<StartBundleRun>, files?: Record<string, string>): Promise<RunHandle>;
  /** A bundle run's session folder: its files by name, and its manifest. */
  session(run: RunHandle): Promise<{
    dir: string;
    files: Record<string, string>;
    manifest: Record<string, unknown>;
  }>;
  /** The run's state document, cut into frontmatter and body. */
  document(run: RunHandle): Promise<{ frontmatter: Record<string, unknown>; body: string }>;
  auditEvents(run: RunHandle): Promise<Record<string, unknown>[]>;
}

/** Workers of this process log errors only. */
export function quietRuntime(): void {
  if (!runtimeInstalled) Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  runtimeInstalled = true;
}

export async function openBench(script: Script, environment: Record<string, string> = {}): Promise<Bench> {
  quietRuntime();
  const dir = await temporaryDirectory();
  const projectRoot = join(dir, "project");
  await mkdir(projectRoot);
  const model = await ScriptedModel.start(script);
  const address = environment["TEMPORAL_ADDRESS"] ?? inject("temporalAddress");
  const taskQueue = `test-${randomUUID()}`;
  const variables = {
    INTERLOCK_STORE: join(dir, "store"),
    INTERLOCK_TASK_QUEUE: taskQueue,
    INTERLOCK_MODEL: "scripted",
    OPENAI_API_KEY: "test-key",
    OPENAI_BASE_URL: model.baseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    ...environment,
  };
  const config = loadConfig(variables);
  const store = await openStore(config.storeDir, config.taskQueue);
  const connection = { address };
  const connectWorker = () =>
    startWorker(config, { connection, namespace: "default", store, workflowBundle });
  let worker = await connectWorker();
  const client = await InterlockClient.connect({ connection: { address }, taskQueue });
  onTestFinished(async () => {
    await worker.shutdown();
    await client.close();
    await model.close();
    await rm(dir, { recursive: true, force: true });
  });

  let room: ReturnType<typeof copyRoom> | undefined;

  async function filesOf(run: { readonly runId: string }) {
    const found = valueOf(await store.runs.findRun(run.runId));
    return valueOf(await store.runs.openFiles(found.projectId, run.runId));
  }

  return {
    client,
    store,
    model,
    projectRoot,
    environment: variables,
    filesOf,
    stopWorker: () => worker.shutdown(),
    async startAnotherWorker() {
      await worker.shutdown();
      worker = await connectWorker();
    },
    dir,
    async startBundle(request = {}, files = {}) {
      room ??= copyRoom(dir, files);
      return client.startBundle({
        ...(await room),
        projectRoot,
        limits: { maxModelAttempts: 2 },
        ...request,
      });
    },
    async session(run) {
      const { bundle } = valueOf(await store.runs.findRun(run.runId));
      return readSession(join(bundle?.outputRoot ?? "", bundle?.sessionId ?? ""));
    },
    async start(files, request = {}) {
      const packageDir = join(dir, `package-${randomUUID()}`);
      await writeTree(packageDir, files);
      const { packageId } = valueOf(await store.packages.install(packageDir));
      return client.start({
        projectRoot,
        packageId,
        limits: { maxModelAttempts: 2 },
        ...request,
      });
    },
    async document(run) {
      const bytes = await readFile(join((await filesOf(run)).stateDir, "workflow.md"));
      const { frontmatter, body } = valueOf(parseFrontMatter(bytes));
      return { frontmatter: { ...frontmatter }, body: Buffer.from(body).toString("utf8") };
    },
    async auditEvents(run) {
      const text = await readFile((await filesOf(run)).logFile, "utf8");
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

const ROOM = fileURLToPath(new URL("../../examples/reading-room", import.meta.url));

/** The example bundle in a directory of a test's own, and what starts its intake workflow with its agent. */
export async function copyRoom(dir: string, files: Record<string, string> = {}) {
  const room = join(dir, "room");
  await cp(ROOM, room, { recursive: true });
  await writeTree(room, files);
  return {
    bundleRoot: join(room, "bmad/desk"),
    coreRoot: join(room, "bmad/core"),
    workflowPath: "workflows/intake/workflow.yaml",
    agentFile: join(room, "bmad/desk/agents/iris.md"),
  };
}

/** A session folder: its files by name, without their manifest. */
export async function readSession(dir: string) {
  const { "manifest.json": manifest, ...files } = await readTree(dir);
  return {
    dir,
    files: Object.fromEntries(Object.entries(files).map(([path, bytes]) => [path, bytes.toString("utf8")])),
    manifest: JSON.parse(manifest?.toString("utf8") ?? "{}") as Record<string, unknown>,
  };
}

export async function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), "interlock-it-"));
}

export async function writeTree(dir: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
}

/** Polls until something holds. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Waits until a run is in a phase: polls its state. */
export async function until(run: RunHandle, phase: string) {
  for (;;) {
    const state = await run.state();
    if (state.phase === phase) return state;
    if (state.phase === "failed" || state.phase === "completed") {
      throw new Error(`The run is ${state.phase}: ${JSON.stringify(state.failure)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
