import { type Once, onceFor } from "../../client/temporal/away.js";
import type { RunHandle } from "../../client/client.js";
import { heldByTemporal } from "../../client/temporal/interlock-error.js";
import type { Config } from "../../config.js";
import type { RunState } from "../../core/run/run-state.js";
import { shellName } from "../../core/text.js";
import { stateOnceAsked } from "../follow/asked-state.js";
import { EXIT, type ExitCode, print, printJson, printNote } from "../terminal/output.js";
import { queueStandingOf } from "../session/queue-standing.js";
import { type RunSession, unlessInterrupted, withRun } from "../session/run-session.js";
import { followAndReport, followedRun } from "../follow/follow-and-report.js";
import type { JsonChoice } from "../options/common-options.js";

/** What a run was told: for people, and for programs beside the run's id. */
export interface Told {
  readonly sentence: string;
  readonly result: object;
}

/** Tells a run something, with a worker of the command's own where the embedded server has none; again where Temporal was away. */
export function tell(
  runId: string,
  options: JsonChoice,
  action: (run: RunHandle) => Promise<Told>,
): Promise<ExitCode> {
  return withRun(runId, async (place) => {
    const once = onceFor(place.session, place.signal);
    await bringWorker(place, once);
    const told = once(() => action(place.run));
    report(place, options, await heard(place, told));
    return EXIT.done;
  });
}

/**
 * As `tell`, for what lets a run go on: with a worker of the command's own it would stop where the command ends, so that
 * the command follows it. A run that stays paused is not followed. `action` is given the run as it stands, and is done again where
 * Temporal was away: twice is to be once.
 */
export function tellAndFollow(
  runId: string,
  options: JsonChoice,
  action: (run: RunHandle, state: RunState) => Promise<ToldOn>,
): Promise<ExitCode> {
  return tellPrepared(runId, options, {
    before: () => Promise.resolve(undefined),
    tell: (run, state, _, once) => once(() => action(run, state)),
  });
}

/** What a run is told that lets it go on. */
export interface ToldOn extends Told {
  readonly staysPaused: boolean;
}

/** As `tellAndFollow`, where the user does something first that may take its time: nobody's silence is meant then. */
export function tellPrepared<T>(
  runId: string,
  { json = false }: JsonChoice,
  action: {
    readonly before: (state: RunState, config: Config) => Promise<T>;
    /** `once` tells it again where Temporal is away. */
    readonly tell: (run: RunHandle, state: RunState, prepared: T, once: Once) => Promise<ToldOn>;
  },
): Promise<ExitCode> {
  return withRun(runId, async (place) => {
    const { session, run, signal } = place;
    const once = onceFor(session, signal);
    const isOwnWorker = await bringWorker(place, once);
    const asked = once(() => stateOnceAsked(run));
    const state = await heard(place, asked);
    const prepared = await action.before(state, place.config);
    const { staysPaused, sentence, result } = await heard(place, action.tell(run, state, prepared, once));
    if (staysPaused) {
      const remedy = `The run is paused. Let it go on with: interlock resume ${shellName(run.runId)}`;
      report(place, { json }, { sentence: `${sentence} ${remedy}`, result });
      return EXIT.done;
    }
    if (!isOwnWorker) {
      report(place, { json }, { sentence, result });
      return EXIT.done;
    }
    printNote(`${sentence} No other worker is there: following the run with a worker of this command's own.`);
    const since = state.progress.at(-1)?.seq ?? 0;
    const choice = { json, waitForAnswers: process.stdin.isTTY, since };
    return followAndReport(place, await followedRun(place), choice);
  });
}

/** Makes sure that somebody hears of it, once it is clear that the run is open. True where it is a worker of our own. */
async function bringWorker({ session, run, store }: RunSession, once: Once): Promise<boolean> {
  await once(() => requireHearing(run));
  const { polled, taskQueue, note } = await once(() => queueStandingOf(session, run, store));
  if (polled) return false;
  const isOwn = session.embedded && taskQueue === store?.taskQueue;
  if (isOwn) await session.startWorker();
  else printNote(note);
  return isOwn;
}

/** Throws where the run is over, and where Temporal holds it: nobody would hear. */
async function requireHearing(run: RunHandle): Promise<void> {
  if ((await run.requireOpen()) === "PAUSED") throw heldByTemporal(run.runId);
}

function heard<T>(place: RunSession, action: Promise<T>): Promise<T> {
  const sentence = `Stopped waiting. Whether the run has heard of it says: interlock status ${shellName(place.run.runId)}`;
  return unlessInterrupted(place, sentence, action);
}

function report({ run }: RunSession, { json = false }: JsonChoice, { sentence, result }: Told): void {
  if (json) printJson({ runId: run.runId, ...result });
  else print(sentence);
}
