import { join, resolve } from "node:path";
import type { RunHandle, RunRequest } from "../client/client.js";
import { ok } from "../core/errors.js";
import type { JsonObject, JsonValue } from "../core/json.js";
import { resolveProject } from "../store/runs/project-id.js";
import { findForkPoint } from "../store/runs/fork-point.js";
import { selectWorkflow } from "../store/runs/run-manager.js";
import type { Store } from "../store/store.js";
import { type ForkedFile, compareFiles, refuseMissing } from "../tools/files/fork-files.js";
import { CommandError, EXIT, type ExitCode, UsageError, noWorkerHint, printNote } from "./output.js";
import { wholeNumber } from "./numbers.js";
import { openRunFolder } from "./run-folder.js";
import { registerRoot } from "./project.js";
import { webUrlOf } from "./run-report.js";
import { type RunSession, withRun } from "./run-session.js";
import { type FollowedRun, followAndReport, reportDetached } from "./start-run.js";
import type { TemporalSession } from "./temporal-session.js";

export interface GoOnOptions {
  readonly detach?: boolean;
  readonly json?: boolean;
  readonly waitForAnswers: boolean;
}

export interface RetryOptions extends GoOnOptions {
  readonly maxTurnsPerNode?: string;
  readonly maxTurnsPerRun?: string;
}

/** `interlock retry`: says what failed, then lets the run go on from its document. */
export async function retryCommand(runId: string, options: RetryOptions): Promise<ExitCode> {
  const limits = {
    ...(options.maxTurnsPerNode === undefined
      ? {}
      : { maxTurnsPerNode: wholeNumber("--max-turns-per-node", options.maxTurnsPerNode) }),
    ...(options.maxTurnsPerRun === undefined
      ? {}
      : { maxTurnsPerRun: wholeNumber("--max-turns-per-run", options.maxTurnsPerRun) }),
  };
  return goOn(runId, options, async ({ store, session, run, known }) => {
    const files = known && (await store.runs.openFiles(known.projectId, known.runId));
    const status = files?.ok === true ? await files.value.status.read() : undefined;
    const ended = await run.executionStatus();
    const failed = status?.fault && { nodeId: status.nodeId, ...status.fault };
    if (failed !== undefined) printNote(`Failed at ${failed.nodeId}: ${failed.code}: ${failed.message}`);
    else if (ended !== "RUNNING" && ended !== "COMPLETED")
      printNote(`The run is ${ended.toLowerCase()}, and left no word why.`);
    const retried = await session.client.retry(run, { limits });
    return { run: retried, ...(failed === undefined ? {} : { more: { failedBefore: failed } }) };
  });
}

export interface ForkOptions extends GoOnOptions {
  readonly fromNode?: string;
  readonly atVisit?: string;
  readonly set?: readonly string[];
  readonly project?: string;
  readonly allowMissing?: boolean;
}

/** `interlock fork`: a new run that begins as another one stood at a node boundary. */
export async function forkCommand(runId: string, options: ForkOptions): Promise<ExitCode> {
  const { fromNode, atVisit } = options;
  if ((fromNode === undefined) === (atVisit === undefined)) {
    throw new UsageError(
      "Say where the fork begins: --from-node <id>, or --at-visit <n> (0 is the beginning).",
    );
  }
  const where = {
    ...(fromNode === undefined ? {} : { fromNode }),
    ...(atVisit === undefined ? {} : { visit: atVisit === "0" ? 0 : wholeNumber("--at-visit", atVisit) }),
  };
  const set = variablesOf(options.set ?? []);
  return goOn(runId, options, async ({ store, session }) => {
    const point = await findForkPoint(store.runs, { runId, ...where });
    if (!point.ok) throw new UsageError(`${point.error.code}: ${point.error.message}`);
    const project = await resolveProject(await projectOf(store, point.value.run.projectId, options.project));
    if (!project.ok) throw new UsageError(`${project.error.code}: ${project.error.message}`);
    if (options.project !== undefined) await registerRoot(store, project.value.root, "write");
    const place = { projectRoot: project.value.root, lockDir: store.lockDir, keepOut: store.roots.keepOut };
    const files = await compareFiles(point.value.files, point.value.boundary.calls, place);
    const isElsewhere = project.value.projectId !== point.value.run.projectId;
    sayFiles(files, isElsewhere);
    const allowMissing = options.allowMissing === true;
    const whole = isElsewhere && !allowMissing ? refuseMissing(lostOf(files)) : undefined;
    if (whole?.ok === false) throw new UsageError(`${whole.error.code}: ${whole.error.message}`);
    const { visit, next: nodeId } = point.value.boundary;
    const source = point.value.run.runId;
    const request = await requestOf(store, source);
    const changes = { ...(Object.keys(set).length === 0 ? {} : { set }), allowMissing };
    // The moment that was compared: a run that goes on may enter the node again meanwhile.
    const run = await session.client.fork(
      source,
      { visit, projectRoot: project.value.root, ...changes },
      request,
    );
    return { run, more: { forkedFrom: { runId: source, visit, nodeId, files } } };
  });
}

/** `key=value`: the value is JSON where it reads as JSON, else a text. */
function variablesOf(pairs: readonly string[]): JsonObject {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, text = ""] = /^([^=]+)=([^]*)$/.exec(pair) ?? [];
      if (key === undefined) throw new UsageError(`--set takes key=value, not "${pair}".`);
      return [key, valueOf(text)];
    }),
  );
}

function valueOf(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue; // whatever JSON.parse gives is JSON
  } catch {
    return text;
  }
}

async function projectOf(store: Store, projectId: string, named: string | undefined): Promise<string> {
  if (named !== undefined) return resolve(named);
  const root = await store.runs.projectRoot(projectId);
  if (!root.ok) throw new UsageError(`${root.error.message} Name one with --project.`);
  return root.value;
}

function sayFiles(files: readonly ForkedFile[], isElsewhere: boolean): void {
  for (const { path, status } of files) {
    if (status === "differs") printNote(`  ${path} differs from what it was then; it stays as it is.`);
    else if (status === "lost") printNote(`  ${path} is missing, and its content is no longer kept.`);
    else if (status === "missing") {
      printNote(isElsewhere ? `  ${path} is restored as it was.` : `  ${path} is missing.`);
    }
  }
}

function lostOf(files: readonly ForkedFile[]): readonly ForkedFile[] {
  return files.filter(({ status }) => status === "lost");
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
  return withRun(runId, async (place) => {
    const { store, session, signal } = place;
    const { run, more = {} } = await begin(place);
    const json = options.json ?? false;
    if (!(await session.hasWorker())) {
      if (session.embedded && options.detach !== true) await session.startWorker();
      else printNote(noWorkerHint(session.embedded, session.client.taskQueue));
    }
    if (options.detach === true) {
      await reportStarted(session, run, { json, more });
      return EXIT.done;
    }
    printNote(`Run ${run.runId} goes on.`);
    const followed = await followedRun(store, run);
    const choice = { json, waitForAnswers: options.waitForAnswers, more };
    return followAndReport(session, store, run, followed, choice, signal);
  });
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
  const packageId = known.ok ? ok(known.value.packageId) : await store.packages.resolve(input.packageId);
  const loaded = packageId.ok ? await store.packages.open(packageId.value) : packageId;
  const workflow = loaded.ok ? selectWorkflow(loaded.value, input.workflowRef ?? "") : loaded;
  if (!workflow.ok) throw new CommandError(workflow.error.message);
  return { graph: workflow.value.graph, projectRoot: input.projectRoot };
}
