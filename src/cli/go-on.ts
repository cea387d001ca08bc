import { join } from "node:path";
import type { RunHandle, RunRequest } from "../client/client.js";
import type { Config } from "../config.js";
import { ok } from "../core/errors.js";
import { selectWorkflow } from "../store/packages/choose.js";
import type { Store } from "../store/store.js";
import { type ModelChoice, configFor } from "./model-options.js";
import { CommandError, EXIT, type ExitCode, printNote } from "./output.js";
import { queueStandingOf } from "./queue-standing.js";
import { openRunFolder } from "./run-folder.js";
import { webUrlOf } from "./run-report.js";
import { type RunSession, withRun } from "./run-session.js";
import { type FollowedRun, followAndReport, reportDetached } from "./start-run.js";
import type { TemporalSession } from "./temporal-session.js";

export interface GoOnOptions extends ModelChoice {
  readonly detach?: boolean;
  readonly json?: boolean;
  readonly waitForAnswers: boolean;
}

/** What a run was started with, as its folder says. */
export async function requestOf(store: Store, runId: string): Promise<RunRequest> {
  const { files } = await openRunFolder(store, runId);
  const request = await files.request.read();
  if (request === undefined) {
    throw new CommandError(
      `The folder of run ${runId} does not say what the run was started with: ${join(files.dir, "run.json")} is missing or damaged. Restore it from a backup.`,
    );
  }
  return request as unknown as RunRequest; // as `run.open` was given it
}

/** The run that goes on, and what a program is told beside its report. */
interface GoneOn {
  readonly run: RunHandle;
  readonly more?: object;
}

/** Starts what `begin` starts and follows it, as `interlock run` does. */
export function goOn(
  runId: string,
  options: GoOnOptions,
  begin: (place: RunSession) => Promise<GoneOn>,
): Promise<ExitCode> {
  const adapt = (config: Config): Config => configFor(config, options);
  const act = async (place: RunSession): Promise<ExitCode> => {
    const { store, session, signal } = place;
    const { run, more = {} } = await begin(place);
    const json = options.json ?? false;
    const standing = await queueStandingOf(session, run, store);
    if (!standing.polled) {
      const isOwn = session.embedded && standing.taskQueue === store.taskQueue;
      if (isOwn && options.detach !== true) await session.startWorker();
      else printNote(standing.note);
    }
    if (options.detach === true) {
      await reportStarted(session, run, { json, more });
      return EXIT.done;
    }
    printNote(`Run ${run.runId} goes on.`);
    const followed = await followedRun(store, run);
    const choice = { json, waitForAnswers: options.waitForAnswers, more };
    return followAndReport(session, store, run, followed, choice, signal);
  };
  return withRun(runId, act, adapt);
}

/** Says what was started, for a command that does not follow it. */
export async function reportStarted(
  { client, webUi }: TemporalSession,
  run: RunHandle,
  choice: { readonly json: boolean; readonly more?: object },
): Promise<void> {
  const executionRunId = await run.executionRunId();
  reportDetached(run, choice, webUrlOf(webUi, client.namespace, run.workflowId, executionRunId));
}

/** What following a run shows of it: its graph and its project. */
export async function followedRun(store: Store, run: RunHandle): Promise<FollowedRun> {
  const { kind, input } = await run.startedWith();
  if (kind === "bundle") return { graph: undefined, projectRoot: input.projectRoot };
  const known = await store.runs.findRun(run.runId);
  if (!known.ok && (await run.taskQueue()) !== store.taskQueue) {
    return { graph: undefined, projectRoot: input.projectRoot }; // another store's
  }
  const packageId = known.ok ? ok(known.value.packageId) : await store.packages.resolve(input.packageId);
  const loaded = packageId.ok ? await store.packages.open(packageId.value) : packageId;
  const workflow = loaded.ok ? selectWorkflow(loaded.value, input.workflowRef ?? "") : loaded;
  if (!workflow.ok) throw new CommandError(workflow.error.message);
  return { graph: workflow.value.graph, projectRoot: input.projectRoot };
}
