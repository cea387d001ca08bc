import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InterlockClient, type RunHandle } from "../src/client/client.js";
import { type Config, loadConfig } from "../src/config.js";
import { SEARCH_ATTRIBUTES } from "../src/contract/names.js";
import { workflowIdOf } from "../src/core/run/run-id.js";
import { acquireEmbeddedServer } from "../src/embedded/server.js";
import { type Store, openStore } from "../src/store/store.js";
import type { BareWorkerSettings } from "./bare-worker.js";
import { type Child, startChild } from "./child-process.js";
import type { InterlockWorkerSettings } from "./interlock-worker.js";
import { type HistoryFigures, historyOf } from "./history.js";
import type { ScriptedModelSettings } from "./scripted-model.js";
import { writeWalkPackage } from "./walk-package.js";

/** Model turns in one node: read the step file, write the artifact, save the state. */
export const TURNS_PER_NODE = 3;
export const SHORT_NODES = 10;
export const LONG_NODES = 160;
/** 2,001 tool calls. */
export const MANY_NODES = 667;

const COUNT_SYNCS = new URL("./count-syncs.js", import.meta.url).href;
const BARE_QUEUE = "bare";
const WALK_TIMEOUT_MS = 10 * 60_000;

export interface WalkOptions {
  readonly nodes: number;
  /** A directory from `makeProjects`; each walk has one of its own. */
  readonly project: string;
  /** Absent means turns. */
  readonly steps?: "nodes";
}

/** A walk that has come to its end as it should. */
export interface Walk {
  readonly milliseconds: number;
  readonly promptTokens: number;
  history(): Promise<HistoryFigures>;
}

/** Everything that is measured, running: server, model, both workers, each a process of its own. */
export interface Stage {
  readonly pids: { readonly server: number; readonly interlock: number; readonly bare: number };
  /** Where the server is reached, as `127.0.0.1:7233`. */
  readonly address: string;
  readonly client: InterlockClient;
  readonly store: Store;
  /** How many files Interlock's worker has synced, where that is counted. */
  syncs(): Promise<number>;
  makeProjects(count: number): Promise<readonly string[]>;
  /** How many requests the model has answered. */
  answered(): Promise<number>;
  /** Starts one run of a package. */
  begin(options: WalkOptions): Promise<RunHandle>;
  /** One run of a package, from its start to its result. */
  walk(options: WalkOptions): Promise<Walk>;
  /** One bare workflow with these activities, from its start to its result; in milliseconds. */
  bareWalk(activities: string): Promise<number>;
  close(): Promise<void>;
}

/** A Temporal server that is there already. */
export interface OtherServer {
  /** `host:port`; it knows our search attributes. */
  readonly address: string;
  /** `default` when absent. */
  readonly namespace?: string;
  readonly pid: number;
}

export interface StageOptions {
  /** The server that is measured; the embedded one when absent. */
  readonly server?: OtherServer | undefined;
  /** Where the temporary store goes; the system's directory for such things when absent. */
  readonly directory: string | undefined;
  /** Where Interlock's worker leaves CPU profiles. */
  readonly cpuProfile: string | undefined;
  /** Files that Interlock's worker syncs are counted. */
  readonly countSyncs?: boolean;
  readonly model?: Partial<ScriptedModelSettings>;
  /** Where Interlock's worker serves metrics, as `127.0.0.1:9464`; absent: nowhere. */
  readonly metrics?: string;
}

/** Starts it all on a fresh store. `close` ends it all and removes the store. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const dir = await mkdtemp(join(options.directory ?? tmpdir(), "interlock-bench-"));
  const closing: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })];
  async function close(): Promise<void> {
    for (let step = closing.pop(); step !== undefined; step = closing.pop()) await step();
  }
  function keep(child: Child): Child {
    closing.push(() => child.stop());
    return child;
  }
  try {
    const storeDir = join(dir, "store");
    const syncsFile = join(dir, "syncs");
    const config = loadConfig({ ...environment(), INTERLOCK_STORE: storeDir });
    const store = await openStore(storeDir);
    const server = options.server ?? (await ownServer(config, storeDir, closing));
    const { address, namespace = "default" } = server;
    const model = keep(await startChild("./scripted-model.js", options.model ?? null));
    const interlock = keep(
      await startChild(
        "./interlock-worker.js",
        {
          address,
          namespace,
          metrics: options.metrics,
          variables: {
            ...environment(),
            INTERLOCK_STORE: storeDir,
            INTERLOCK_PROJECT_ROOTS: dir,
            INTERLOCK_MODEL: "scripted",
            OPENAI_BASE_URL: model.ready,
          },
        } satisfies InterlockWorkerSettings,
        [
          ...(options.cpuProfile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.cpuProfile}`]),
          ...(options.countSyncs === true ? ["--import", COUNT_SYNCS] : []),
        ],
        options.countSyncs === true ? { BENCH_SYNCS: syncsFile } : {},
      ),
    );
    const bare = keep(
      await startChild("./bare-worker.js", {
        address,
        namespace,
        taskQueue: BARE_QUEUE,
      } satisfies BareWorkerSettings),
    );
    const client = await InterlockClient.connect({
      connection: { address },
      namespace,
      taskQueue: store.taskQueue,
    });
    closing.push(() => client.close());
    const packageIds = new Map<number, string>();
    for (const nodes of [SHORT_NODES, LONG_NODES, MANY_NODES]) {
      const source = join(dir, `package-${nodes}`);
      await writeWalkPackage(source, nodes);
      const installed = await store.packages.install(source);
      if (!installed.ok) throw new Error(installed.error.message);
      packageIds.set(nodes, installed.value.packageId);
    }
    const begin = ({ nodes, project, steps }: WalkOptions): Promise<RunHandle> => {
      const packageId = packageIds.get(nodes);
      if (packageId === undefined) throw new Error(`There is no package of ${nodes} nodes.`);
      return client.start({
        packageId,
        projectRoot: project,
        storeId: store.storeId,
        ...(steps === undefined ? {} : { steps }),
        limits: { maxTurnsPerRun: 2 * MANY_NODES * TURNS_PER_NODE },
      });
    };
    return {
      pids: { server: server.pid, interlock: interlock.pid, bare: bare.pid },
      address,
      client,
      store,
      async syncs() {
        return Number(await readFile(syncsFile, "utf8").catch(() => "NaN"));
      },
      async makeProjects(count) {
        const projects = Array.from({ length: count }, () => join(dir, "projects", randomUUID()));
        for (const project of projects) await mkdir(project, { recursive: true });
        return projects;
      },
      async answered() {
        return Number(await (await fetch(model.ready)).text());
      },
      begin,
      async walk(walk) {
        const { nodes } = walk;
        const startedAt = performance.now();
        const run = await begin(walk);
        const result = await withinTime(run.result());
        const milliseconds = performance.now() - startedAt;
        const { stepsCompleted, artifacts, earlierArtifacts = 0, usage } = result;
        const asExpected =
          stepsCompleted.length === nodes &&
          earlierArtifacts + artifacts.length === nodes &&
          usage.modelTurns === nodes * TURNS_PER_NODE &&
          usage.toolCalls === nodes * TURNS_PER_NODE;
        if (!asExpected) throw new Error(`The walk went another way: ${JSON.stringify(result)}`);
        return {
          milliseconds,
          promptTokens: usage.promptTokens,
          history: () => historyOf(client.temporal, workflowIdOf(run.runId), run.firstExecutionRunId ?? ""),
        };
      },
      async bareWalk(activities) {
        const startedAt = performance.now();
        const handle = await client.temporal.workflow.start("bareWalk", {
          workflowId: `bare-${randomUUID()}`,
          taskQueue: BARE_QUEUE,
          args: [activities],
          workflowTaskTimeout: "5 seconds",
        });
        await withinTime(handle.result());
        return performance.now() - startedAt;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The embedded server of a store; `closing` is given what lets go of it. */
export async function ownServer(
  config: Config,
  storeDir: string,
  closing: (() => Promise<unknown>)[],
): Promise<OtherServer> {
  const server = await acquireEmbeddedServer({
    ...(config.temporalCli === undefined ? {} : { cliPath: config.temporalCli }),
    pathVariable: config.pathVariable,
    cacheDir: config.cacheDir,
    storeDir,
    searchAttributes: SEARCH_ATTRIBUTES,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  closing.push(() => server.release());
  return server;
}

/** What finding the Temporal CLI needs of the environment; a Temporal configured there is not for the bench. */
export function environment(): Record<string, string> {
  const names = ["PATH", "HOME", "INTERLOCK_CACHE", "INTERLOCK_TEMPORAL_CLI"];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

async function withinTime<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("A walk took longer than ten minutes.")), WALK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
