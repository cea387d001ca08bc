import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { InterlockClient, type RunHandle } from "../../src/client.js";
import { workflowIdOf } from "../../src/contract/names.js";
import { loadConfig } from "../../src/config.js";
import { type Store, openStore } from "../../src/store/store.js";
import { type RunningWorker, startWorker } from "../../src/worker.js";
import { ScriptedModel, type ChatRequestBody, type ScriptedAnswer } from "../fakes/scripted-model.js";
import { valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { writePackage } from "../fakes/package-fixture.js";
import type { Arming } from "./armed-failpoint.js";
import { type ArmedBuild, type Victim, readHits } from "./armed-build.js";
import { answerTo } from "./crash-script.js";

let runtimeInstalled = false;
/** Successors run workflow code in this thread: the many that there are would start one each. */
process.env["TEMPORAL_DEBUG"] = "1";

/** One case: a store, a project, a queue and a model of its own, on the suite's Temporal server. */
export interface CrashStage {
  readonly dir: string;
  readonly store: Store;
  readonly packageId: string;
  readonly projectRoot: string;
  readonly model: ScriptedModel;
  readonly client: InterlockClient;
  readonly hitsFile: string;
  /** Starts a worker of the armed build. */
  startVictim(at?: Arming["at"]): Promise<Victim>;
  /** Starts a worker that nothing happens to. */
  startSuccessor(): Promise<void>;
  startRun(): Promise<RunHandle>;
  /** Waits until a failpoint was hit so often. */
  hasHit(at: { readonly name: string; readonly hit: number }): Promise<void>;
  /** Where the run's files are. */
  runDir(run: RunHandle): Promise<string | undefined>;
  /** What Temporal says of the runs, for a case that does not end. */
  describe(): Promise<string>;
  close(): Promise<void>;
}

export interface StageOptions {
  readonly address: string;
  readonly build: ArmedBuild;
  /** Told of each request before it is answered. */
  readonly onRequest?: (request: ChatRequestBody, index: number) => ScriptedAnswer | undefined;
}

export async function openCrashStage({ address, build, onRequest }: StageOptions): Promise<CrashStage> {
  if (!runtimeInstalled) Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  runtimeInstalled = true;
  const dir = await mkdtemp(join(tmpdir(), "interlock-crash-"));
  const projectRoot = join(dir, "project");
  await mkdir(projectRoot);
  const model = await ScriptedModel.start(
    (request, index) => onRequest?.(request, index) ?? answerTo(request),
  );
  const taskQueue = `crash-${randomUUID()}`;
  const environment = {
    INTERLOCK_STORE: join(dir, "store"),
    INTERLOCK_TASK_QUEUE: taskQueue,
    INTERLOCK_MODEL: "scripted",
    OPENAI_API_KEY: "test-key",
    OPENAI_BASE_URL: model.baseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
  };
  const config = loadConfig(environment);
  const store = await openStore(config.storeDir, config.taskQueue);
  const source = await writePackage(join(dir, "package"), twoNodePackage());
  const { packageId } = valueOf(await store.packages.install(source));
  const client = await InterlockClient.connect({ connection: { address }, taskQueue });
  const hitsFile = join(dir, "hits");
  const victims: Victim[] = [];
  const successors: RunningWorker[] = [];
  const runs: RunHandle[] = [];
  return {
    dir,
    store,
    packageId,
    projectRoot,
    model,
    client,
    hitsFile,
    async startVictim(at) {
      const victim = await build.startWorker(environment, { hitsFile, ...(at === undefined ? {} : { at }) });
      victims.push(victim);
      return victim;
    },
    async startSuccessor() {
      const options = { connection: { address }, namespace: "default", workflowBundle: build.workflowBundle };
      successors.push(await startWorker(config, options));
    },
    async startRun() {
      const run = await client.start({ projectRoot, packageId, input: "Paint it.", storeId: store.storeId });
      runs.push(run);
      return run;
    },
    async hasHit({ name, hit }) {
      while (readHits(hitsFile).filter((item) => item === name).length < hit) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async runDir(run) {
      const found = await store.runs.findRun(run.runId);
      return found.ok ? join(store.dir, "projects", found.value.projectId, "runs", run.runId) : undefined;
    },
    async describe() {
      const states = runs.map(async ({ runId }) => {
        const { status, raw } = await client.temporal.workflow.getHandle(workflowIdOf(runId)).describe();
        const { pendingActivities, pendingWorkflowTask } = raw;
        return {
          status: status.name,
          pendingActivities,
          pendingWorkflowTask,
          hits: readHits(hitsFile).length,
        };
      });
      const processes = victims.map(({ process: { exitCode, signalCode }, errors }) => ({
        isRunning: exitCode === null && signalCode === null,
        errors: errors(),
      }));
      return JSON.stringify({ runs: await Promise.all(states), processes });
    },
    async close() {
      for (const run of runs) {
        await client.temporal.workflow
          .getHandle(workflowIdOf(run.runId))
          .terminate()
          .catch(() => undefined);
      }
      await Promise.all([
        ...victims.map((victim) => victim.end()),
        ...successors.map((worker) => worker.shutdown()),
      ]);
      await client.close();
      await model.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Answers the run's question as soon as it is asked; the same answer however often it is sent. */
export async function answerQuestion(stage: CrashStage, run: RunHandle, until: AbortSignal): Promise<void> {
  let dir: string | undefined;
  while (!until.aborted) {
    dir ??= await stage.runDir(run);
    const file = join(dir ?? "", "status.json");
    const phase =
      dir === undefined || !existsSync(file)
        ? undefined
        : (JSON.parse(await readFile(file, "utf8")) as { phase: string }).phase;
    if (phase === "waiting-user") {
      await run.answer({ nodeId: "ask", text: "Blue, please.", answerId: "answer-1" });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
