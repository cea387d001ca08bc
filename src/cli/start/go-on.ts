import type { RunHandle, RunRequest } from "../../client/client.js";
import type { Config } from "../../config.js";
import type { StoreReader } from "../../contract/reads.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import { type ModelChoice, configFor } from "../options/model-options.js";
import { CommandError, EXIT, type ExitCode, printNote } from "../terminal/output.js";
import { queueStandingOf } from "../session/queue-standing.js";
import { read } from "../session/run-folder.js";
import { type RunSession, withRun } from "../session/run-session.js";
import {
  type FollowedRun,
  bringAnotherWorker,
  followAndReport,
  reportDetached,
} from "../follow/follow-and-report.js";

export interface GoOnOptions extends ModelChoice {
  readonly detach?: boolean;
  readonly json?: boolean;
  readonly waitForAnswers: boolean;
}

/** What a run was started with, as its folder says. */
export async function requestOf(reader: StoreReader, runId: string): Promise<RunRequest> {
  const { request, place } = read(runId, await reader.ask("read.request", { run: runId }));
  if (request === null) {
    throw new CommandError(
      `The folder of run ${runId} does not say what the run was started with: ${place} is missing or damaged. Restore it from a backup.`,
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
    if (options.detach === true) await reportDetached(session, run, { json, more });
    else printNote(`Run ${run.runId} goes on.`);
    const standing = await queueStandingOf(session, run, store);
    const isOwn = session.embedded && standing.taskQueue === store?.taskQueue && options.detach !== true;
    if (!standing.polled) {
      if (isOwn) await session.startWorker();
      else printNote(standing.note);
    }
    if (options.detach === true) return EXIT.done;
    if (isOwn && standing.polled) await bringAnotherWorker(session, signal);
    const choice = { json, waitForAnswers: options.waitForAnswers, more, isShared: standing.polled };
    const there = { ...place, run };
    return followAndReport(there, await followedRun(there), choice);
  };
  return withRun(runId, act, adapt);
}

/** What following a run shows of it: its graph and its project. */
export async function followedRun({ reader, run }: Pick<RunSession, "reader" | "run">): Promise<FollowedRun> {
  const { kind, input } = await run.startedWith();
  const { projectRoot } = input;
  if (kind === "bundle") return { graph: undefined, projectRoot };
  const known = await reader.ask("read.graph", { run: run.runId });
  const graph = known.ok ? (known.value.graph as unknown as WorkflowGraph | null) : null; // of an installed package
  return { graph: graph ?? undefined, projectRoot };
}
