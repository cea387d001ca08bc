import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { inject, onTestFinished } from "vitest";
import { InterlockClient, type RunHandle, type StartRun } from "../../src/client.js";
import { loadConfig } from "../../src/config.js";
import { parseFrontMatter } from "../../src/store/front-matter.js";
import { type Store, openStore } from "../../src/store/store.js";
import { startWorker } from "../../src/worker.js";
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
  /** Installs a package from files and starts a run of it. */
  start(files: Record<string, string>, request?: Partial<StartRun>): Promise<RunHandle>;
  /** The run's state document, cut into frontmatter and body. */
  document(run: RunHandle): Promise<{ frontmatter: Record<string, unknown>; body: string }>;
  auditEvents(run: RunHandle): Promise<Record<string, unknown>[]>;
}

export async function openBench(script: Script, environment: Record<string, string> = {}): Promise<Bench> {
  if (!runtimeInstalled) Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  runtimeInstalled = true;
  const dir = await temporaryDirectory();
  const projectRoot = join(dir, "project");
  await mkdir(projectRoot);
  const model = await ScriptedModel.start(script);
  const address = inject("temporalAddress");
  const taskQueue = `test-${randomUUID()}`;
  const config = loadConfig({
    INTERLOCK_STORE: join(dir, "store"),
    INTERLOCK_TASK_QUEUE: taskQueue,
    INTERLOCK_MODEL: "scripted",
    OPENAI_API_KEY: "test-key",
    OPENAI_BASE_URL: model.baseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    ...environment,
  });
  const store = await openStore(config.storeDir, config.taskQueue);
  const connection = { address };
  const worker = await startWorker(config, { connection, namespace: "default", store, workflowBundle });
  const client = await InterlockClient.connect({ connection: { address }, taskQueue });
  onTestFinished(async () => {
    await worker.shutdown();
    await client.close();
    await model.close();
    await rm(dir, { recursive: true, force: true });
  });

  async function filesOf(run: RunHandle) {
    const found = await store.runs.findRun(run.runId);
    if (!found.ok) throw new Error(found.error.message);
    const files = await store.runs.openFiles(found.value.projectId, run.runId);
    if (!files.ok) throw new Error(files.error.message);
    return files.value;
  }

  return {
    client,
    store,
    model,
    projectRoot,
    async start(files, request = {}) {
      const packageDir = join(dir, `package-${randomUUID()}`);
      await writeTree(packageDir, files);
      const installed = await store.packages.install(packageDir);
      if (!installed.ok) throw new Error(JSON.stringify(installed.error));
      return client.start({
        projectRoot,
        packageId: installed.value.packageId,
        limits: { maxModelAttempts: 2 },
        ...request,
      });
    },
    async document(run) {
      const bytes = await readFile(join((await filesOf(run)).stateDir, "workflow.md"));
      const parsed = parseFrontMatter(bytes);
      if (!parsed.ok) throw new Error(parsed.error.message);
      return {
        frontmatter: { ...parsed.value.frontmatter },
        body: Buffer.from(parsed.value.body).toString("utf8"),
      };
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

export async function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), "interlock-it-"));
}

export async function writeTree(dir: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
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
