import type { RunHandle, RunRequest } from "../../client/client.js";
import type { Config } from "../../config.js";
import type { StoreReader } from "../../contract/reads.js";
import { type ModelChoice, configFor } from "../options/model-options.js";
import { CommandError, EXIT, type ExitCode, printNote } from "../terminal/output.js";
import { queueStandingOf } from "../session/queue-standing.js";
import { read } from "../session/run-folder.js";
import { type RunSession, withRun } from "../session/run-session.js";
import {
  type FollowOptions,
  bringAnotherWorker,
  followAndReport,
  followedRun,
  reportDetached,
} from "../follow/follow-and-report.js";

export interface GoOnOptions extends ModelChoice, FollowOptions {}

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
    const { run, more } = await begin(place);
    return followBegun({ ...place, run }, options, `Run ${run.runId} goes on.`, more);
  };
  return withRun(runId, act, adapt);
}

/** Follows a run that has begun or goes on, which `sentence` says, with a worker of the command's own where its store has the embedded server. */
export async function followBegun(
  place: Pick<RunSession, "session" | "store" | "reader" | "run" | "signal">,
  { detach = false, json = false, waitForAnswers }: FollowOptions,
  sentence: string,
  more: object = {},
): Promise<ExitCode> {
  const { session, store, run, signal } = place;
  if (detach) await reportDetached(session, run, { json, more });
  else printNote(sentence);
  const { polled, taskQueue, note } = await queueStandingOf(session, run, store);
  const isOwn = session.embedded && taskQueue === store?.taskQueue && !detach;
  if (!polled) {
    if (isOwn) await session.startWorker();
    else printNote(note);
  }
  if (detach) return EXIT.done;
  if (isOwn && polled) await bringAnotherWorker(session, signal);
  const choice = { json, waitForAnswers, more, isShared: polled };
  return followAndReport(place, await followedRun(place), choice);
}
