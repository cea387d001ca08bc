import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, isGrpcServiceError } from "@temporalio/client";
import { msToTs } from "@temporalio/common/lib/time.js";
import { inject, onTestFinished } from "vitest";
import {
  InterlockClient,
  type RunHandle,
  type StartBundleRun,
  type StartRun,
} from "../../src/client/client.js";
import { parseMarkdown } from "../../src/core/documents/front-matter.js";
import type { RunState } from "../../src/core/run/run-state.js";
import { startSigner } from "../../src/store/start-signatures.js";
import type { RunFiles } from "../../src/store/runs/run-files.js";
import { startWorker } from "../../src/worker.js";
import { eventually } from "../fakes/eventually.js";
import { readTree, writePackage } from "../fakes/package-fixture.js";
import { type Place, openPlace } from "../fakes/place.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { valueOf } from "../fakes/run-world.js";
import type { Script } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";

/** A worker of its own store on the suite's real server, with a scripted model over HTTP. */
export interface Bench extends Omit<Place, "close"> {
  /** Stops the worker and lets another one take its place. */
  startAnotherWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  filesOf(run: { readonly runId: string }): Promise<RunFiles>;
  /** Installs a package from files and starts a run of it, by the bench's own client or another. */
  start(
    files: Record<string, string>,
    request?: Partial<StartRun>,
    starter?: InterlockClient,
  ): Promise<RunHandle>;
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

export async function openBench(script: Script, environment: Record<string, string> = {}): Promise<Bench> {
  quietRuntime();
  const address = environment["TEMPORAL_ADDRESS"] ?? inject("temporalAddress");
  const place = await openPlace(address, script, environment);
  const { dir, projectRoot, config, store, client } = place;
  const connection = { address };
  const connectWorker = () =>
    startWorker(config, {
      connection,
      namespace: "default",
      store,
      workflowBundle: { codePath: inject("workflowBundle") },
    });
  let worker = await connectWorker();
  onTestFinished(async () => {
    await worker.shutdown();
    await place.close();
  });

  let room: ReturnType<typeof copyRoom> | undefined;

  async function filesOf(run: { readonly runId: string }) {
    const found = valueOf(await store.runs.findRun(run.runId));
    return valueOf(await store.runs.openFiles(found.projectId, run.runId));
  }

  return {
    ...place,
    filesOf,
    stopWorker: () => worker.shutdown(),
    async startAnotherWorker() {
      await worker.shutdown();
      worker = await connectWorker();
    },
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
    async start(files, request = {}, starter = client) {
      const packageDir = join(dir, `package-${randomUUID()}`);
      await writePackage(packageDir, files);
      const { packageId } = valueOf(await store.packages.install(packageDir));
      return starter.start({
        projectRoot,
        packageId,
        limits: { maxModelAttempts: 2 },
        ...request,
      });
    },
    async document(run) {
      const bytes = await readFile(join((await filesOf(run)).stateDir, "workflow.md"));
      const { frontmatter, body } = valueOf(parseMarkdown(bytes));
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
  await writePackage(room, files);
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

/**
 * A namespace of the suite's server that has no runs, no stores and no search attributes of ours. Whoever asks for a run that there is
 * not waits in the default one for the stores of other tests.
 */
export async function newNamespace({ client }: Pick<Bench, "client">): Promise<string> {
  const namespace = `new-${randomUUID()}`;
  const { connection, workflowService } = client.temporal;
  await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs("1 day") });
  const inIt = new Client({ connection, namespace });
  await eventually(() =>
    inIt.workflow.count().then(
      () => true,
      () => false, // a new one is known a little later
    ),
  );
  return namespace;
}

export async function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), "interlock-it-"));
}

export { writePackage as writeTree };

/** A client that signs for a bench whose worker takes signed starts only; the bench's own is a stranger's. */
export async function signedClient({ environment, store }: Pick<Bench, "environment" | "store">) {
  const sign = await startSigner(store);
  const connection = { address: environment["TEMPORAL_ADDRESS"] ?? "" };
  const client = await InterlockClient.connect({ connection, taskQueue: store.taskQueue, sign });
  onTestFinished(() => client.close());
  return { client, sign };
}

const GRPC_DEADLINE_EXCEEDED = 4;
/** Temporal says so after workflow tasks that have timed out. */
const GRPC_FAILED_PRECONDITION = 9;

/** Where a run stands: a busy machine takes longer for that than a query, or a workflow task, is waited for. */
async function patientState(run: RunHandle): Promise<RunState> {
  for (;;) {
    try {
      return await run.state();
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      const code: number | undefined = isGrpcServiceError(cause) ? cause.code : undefined;
      if (code !== GRPC_DEADLINE_EXCEEDED && code !== GRPC_FAILED_PRECONDITION) throw error;
    }
  }
}

/** Waits until a run is in a phase: polls its state. */
export async function until(run: RunHandle, phase: string) {
  let state = await patientState(run);
  await eventually(async () => {
    state = await patientState(run);
    if (state.phase === phase) return true;
    if (state.phase !== "failed" && state.phase !== "completed") return false;
    throw new Error(`The run is ${state.phase}: ${JSON.stringify(state.failure)}`);
  });
  return state;
}

/** Waits until a run waits for an answer, also by its files: it says so a moment before they do. */
export async function untilAsked(bench: Bench, run: RunHandle): Promise<void> {
  await until(run, "waiting-user");
  await eventually(async () => valueOf(await bench.store.runs.findRun(run.runId)).phase === "waiting-user");
}

/** A run of two nodes that waits for an answer, as the bench's script has it. */
export async function askedRun(bench: Bench): Promise<RunHandle> {
  const run = await bench.start(twoNodePackage());
  await untilAsked(bench, run);
  return run;
}

/** A run of two nodes that is over, as the bench's script has it. */
export async function finishedRun(bench: Bench): Promise<RunHandle> {
  const run = await bench.start(twoNodePackage(), { input: "Paint it." });
  await run.result();
  return run;
}
