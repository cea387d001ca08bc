import { eventually } from "../fakes/eventually.js";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunHandle } from "../../src/client/client.js";
import type { RunResult } from "../../src/core/run/run-result.js";
import type { StepSize } from "../../src/core/step-size.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { type Place, openPlace } from "../fakes/place.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import type { ChatRequestBody, ScriptedAnswer } from "../fakes/scripted-model.js";
import { valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { writePackage } from "../fakes/package-fixture.js";
import { type ArmedBuild, readHits } from "./armed-build.js";
import { answerTo } from "./crash-script.js";
import { type Crew, crewOf } from "./crew.js";

/** How often a case looks whether it is asked: many of them do so at once. */
const SELDOM_MS = 250;

/** One case: a store, a project, a queue and a model of its own, on the suite's Temporal server. */
export interface CrashStage extends Place, Crew {
  readonly packageId: string;
  readonly steps: StepSize;
  startRun(): Promise<RunHandle>;
  /** Waits until a failpoint was hit so often. */
  hasHit(at: { readonly name: string; readonly hit: number }): Promise<void>;
  /** Where the run's files are. */
  runDir(run: RunHandle): Promise<string | undefined>;
  /** What Temporal says of the runs, for a case that does not end. */
  describe(): Promise<string>;
}

export interface StageOptions {
  readonly address: string;
  readonly build: ArmedBuild;
  /** Of its runs; absent means turns. */
  readonly steps?: StepSize;
  /** Told of each request before it is answered. */
  readonly onRequest?: (
    request: ChatRequestBody,
    index: number,
  ) => ScriptedAnswer | undefined | Promise<ScriptedAnswer | undefined>;
}

export async function openCrashStage({
  address,
  build,
  steps = "turns",
  onRequest,
}: StageOptions): Promise<CrashStage> {
  quietRuntime();
  const place = await openPlace(
    address,
    async (request, index) => (await onRequest?.(request, index)) ?? answerTo(request),
  );
  const { dir, projectRoot, store, client } = place;
  const source = await writePackage(join(dir, "package"), twoNodePackage());
  const { packageId } = valueOf(await store.packages.install(source));
  const crew = crewOf(place, build);
  const { hitsFile, victims } = crew;
  const runs: RunHandle[] = [];
  return {
    ...place,
    ...crew,
    packageId,
    steps,
    async startRun() {
      const run = await client.start({
        projectRoot,
        packageId,
        input: "Paint it.",
        storeId: store.storeId,
        steps,
      });
      runs.push(run);
      return run;
    },
    async hasHit({ name, hit }) {
      await eventually(() => readHits(hitsFile).filter((item) => item === name).length >= hit);
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
      await crew.end(runs);
      await place.close();
    },
  };
}

/** Answers the run's question as soon as it is asked; the same answer however often it is sent. */
export async function answerQuestion(stage: CrashStage, run: RunHandle, until: AbortSignal): Promise<void> {
  let dir: string | undefined;
  const isAsked = async () => {
    dir ??= await stage.runDir(run);
    const file = join(dir ?? "", "status.json");
    if (dir === undefined || !existsSync(file)) return false;
    return (JSON.parse(await readFile(file, "utf8")) as { phase: string }).phase === "waiting-user";
  };
  await eventually(async () => until.aborted || (await isAsked()), SELDOM_MS);
  if (!until.aborted) await run.answer({ nodeId: "ask", text: "Blue, please.", answerId: "answer-1" });
}

/** How a run ends whose question is answered as soon as it is asked. */
export async function answeredResult(
  stage: CrashStage,
  run: RunHandle,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<RunResult> {
  const over = new AbortController();
  const answered = answerQuestion(stage, run, over.signal);
  try {
    await meanwhile();
    const result = await run.result();
    await answered;
    return result;
  } finally {
    over.abort();
    await answered.catch(() => undefined);
  }
}
