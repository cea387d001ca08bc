import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import { InterlockClient, type RunHandle } from "../../src/client/client.js";
import { defined } from "../../src/core/defined.js";
import { openStore } from "../../src/store/store.js";
import { valueOf } from "../fakes/run-world.js";
import { type Script, ScriptedModel } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { temporaryDirectory, writeTree } from "./harness.js";
import { MAIN } from "./shell.js";
import { removeFolder } from "../fakes/remove-folder.js";

/** `interlock worker` as a process. */
export interface WorkerProcess {
  readonly child: ChildProcess;
  /** Settles when it polls; rejects when it ends before. */
  readonly polls: Promise<void>;
  said(): string;
}

/** A store, a queue and a model for workers that are processes, on the suite's Temporal. */
export async function openWorkerPlace(script: Script) {
  const dir = await temporaryDirectory();
  const model = await ScriptedModel.start(script);
  const address = inject("temporalAddress");
  const taskQueue = `test-${randomUUID()}`;
  const store = await openStore(join(dir, "store"), taskQueue);
  const client = await InterlockClient.connect({ connection: { address }, taskQueue });
  onTestFinished(async () => {
    await client.close();
    await model.close();
    await removeFolder(dir);
  });
  await writeTree(join(dir, "package"), twoNodePackage());
  const { packageId } = valueOf(await store.packages.install(join(dir, "package")));
  const environment = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    INTERLOCK_STORE: join(dir, "store"),
    INTERLOCK_PROJECT_ROOTS: dir,
    INTERLOCK_MODEL: "scripted",
    OPENAI_BASE_URL: model.baseUrl,
    TEMPORAL_ADDRESS: address,
  };
  return {
    store,
    environment,
    client,
    model,
    /** One that may open so many files, or as many as the system lets it; on another copy of the store where one is named. */
    startWorker: (files?: number, storeDir = environment.INTERLOCK_STORE) =>
      startWorker({ ...environment, INTERLOCK_STORE: storeDir }, files),
    /** Runs of a package of two nodes, each in a project of its own. */
    async startRuns(
      this: void,
      count: number,
      inputs: readonly string[] = [],
    ): Promise<readonly RunHandle[]> {
      const runs: RunHandle[] = [];
      for (let index = 0; index < count; index += 1) {
        const projectRoot = join(dir, `project-${index}`);
        await mkdir(projectRoot);
        runs.push(await client.start({ projectRoot, packageId, ...defined({ input: inputs[index] }) }));
      }
      return runs;
    },
  };
}

function startWorker(environment: Record<string, string>, files?: number): WorkerProcess {
  const limit = files === undefined ? "" : `ulimit -n ${files}; `;
  const child = spawn("bash", ["-c", `${limit}exec "$0" "$@"`, process.execPath, MAIN, "worker"], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
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
