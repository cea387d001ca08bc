import { type InterlockClient, InterlockError, type RunHandle } from "../../client/client.js";
import { abortable } from "../../client/temporal/abortable.js";
import { closedAs } from "../../client/runs/closed-run.js";
import type { RunTimes } from "../../client/runs/run-times.js";
import { isBetweenWorkers, isNotBegun, isUnfollowed } from "../../client/temporal/interlock-error.js";
import { runsBelow } from "../../client/runs-below.js";
import type { Config } from "../../config.js";
import { quoted } from "../../client/temporal/quoted.js";
import { defined } from "../../core/defined.js";
import { printable } from "../../core/printable.js";
import { shellName } from "../../core/text.js";
import type { Fault } from "../../core/errors.js";
import { isOverPhase } from "../../core/run/phase.js";
import { isRunId } from "../../core/run/run-id.js";
import type { RunState } from "../../core/run/run-state.js";
import type { Store } from "../../store/store.js";
import type { StoreReader } from "../../contract/reads.js";
import { localReader } from "../session/readers.js";
import { CommandError } from "../terminal/output.js";
import { sentenceTime } from "../session/known-stores.js";
import { type QueueStanding, queueStandingOf } from "../session/queue-standing.js";
import { type RunReport, askedBelow, filesOfRun, reportFromStore, reportOf, tellsOf } from "./run-report.js";
import { elsewhere, referenceOf, unopened } from "../session/run-session.js";
import { type TemporalSession, openTemporalSession } from "../session/temporal-session.js";
import { webLinkOf } from "../session/web-link.js";
import { interruption } from "../terminal/interruption.js";
import { taskFailureWords, noWorkerHint } from "../session/standstill-words.js";

/** A worker that was killed elsewhere counts for a minute after its last poll. One that is alive answers sooner. */
const QUERY_TIMEOUT_MS = 5_000;

interface AskedReport {
  readonly report: RunReport | undefined;
  readonly note?: string;
  /** The path of the project, as the run's store says it. */
  readonly projectRoot?: string;
  /** How the Web UI is opened, where there is no link. */
  readonly webUi?: string;
}

/** A run as its workflow tells it; what the store knows where no worker can answer, with a note that says so. */
export async function reportFromTemporal(
  config: Config,
  store: Store | undefined,
  runId: string,
  here: RunReport | undefined,
): Promise<AskedReport> {
  const opened = await openTemporalSession(config, store, interruption()).catch((error: unknown) => {
    if (error instanceof CommandError && here !== undefined) return error;
    throw error;
  });
  if (opened instanceof CommandError) {
    const note = `${opened.message} This is what the run's files say.`;
    return { report: here, note };
  }
  try {
    return await reportIn(opened, { store, runId, here });
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    if (error.code !== "E_RUN_NOT_FOUND") {
      if (here === undefined) throw error;
      return { report: here, note: `${error.code}: ${error.message} This is what the run's files say.` }; // sealed, for one
    }
    return here === undefined ? { report: undefined } : { report: here, note: lostNote(here) };
  } finally {
    await opened.close();
  }
}

function lostNote({ runId, phase }: RunReport): string {
  if (phase === "completed") return "Temporal no longer knows this run. This is what its files say.";
  return `Temporal no longer knows this run. Start it again from its document with: interlock restore ${shellName(runId)}`;
}

interface Wanted {
  readonly store: Store | undefined;
  readonly runId: string;
  readonly here: RunReport | undefined;
}

/** What a Temporal that is reached tells of the run. */
async function reportIn(opened: TemporalSession, { store, runId, here }: Wanted): Promise<AskedReport> {
  const found = await store?.runs.findRun(runId);
  const known = found?.ok === true ? found.value : undefined;
  const run = opened.client.handle(referenceOf(known) ?? runId);
  const { session, reader, lost } =
    known === undefined || store === undefined
      ? await elsewhere(opened, run)
      : { session: opened, reader: localReader(store), lost: undefined };
  if (lost !== undefined) {
    const report = reportFromStore(lost);
    return { report, note: lostNote(report), ...defined({ projectRoot: lost.projectRoot ?? undefined }) };
  }
  const { url: webUrl, how: webUi } = await webLinkOf(session, run, { after: true });
  const seen = { ...(await workOf(run)), ...(await run.times()), webUrl };
  const place: Place = { session, reader, run, runId, here, seen };
  // To be asked, a run that is over is worked through in a worker from its beginning.
  const closed = here?.phase === "failed" ? await closedAs(run) : undefined;
  if (here !== undefined && closed !== undefined && tellsOf(here, closed)) {
    return { webUi, report: { ...here, ...seen } };
  }
  const standing = await queueStandingOf(session, run, store);
  const isAnswering = standing.polled && seen.taskFailure === undefined;
  const asked = isAnswering ? await inTime(session.client, () => run.state()).catch(unfollowed) : undefined;
  const told =
    asked === undefined || asked instanceof InterlockError
      ? await reportOfSilence(place, standing, asked?.message)
      : await reportOfState(place, asked);
  return { webUi, ...told };
}

/** Where a run is looked at, and what is known of it before it is asked itself. */
interface Place extends Pick<Wanted, "runId" | "here"> {
  readonly session: TemporalSession;
  readonly reader: StoreReader;
  readonly run: RunHandle;
  /** What Temporal shows of it. */
  readonly seen: Pick<RunReport, "work" | "taskFailure" | "webUrl"> & RunTimes;
}

async function reportOfState(place: Place, state: RunState): Promise<AskedReport> {
  const { session, reader, run, runId, here, seen } = place;
  const stored = state.currentNodeId === "" ? await filesOf(place) : undefined;
  if (stored !== undefined) return { report: { ...whereItStood(stored, state), ...seen } };
  const { files, projectRoot } = await filesOfRun(reader, runId);
  const places = { workflowId: run.workflowId, webUrl: seen.webUrl, ...files };
  const asks = askedBelow((await inTime(session.client, () => runsBelow(run, state))) ?? []);
  const startedAt = seen.startedAt ?? here?.startedAt;
  const report = { ...reportOf(state, places, asks), ...seen, ...defined({ startedAt }) };
  return { report, ...defined({ projectRoot }) };
}

/** Of a run that cannot be asked: `why`, where Temporal has said it. */
async function reportOfSilence(
  place: Place,
  standing: QueueStanding,
  why: string | undefined,
): Promise<AskedReport> {
  const { session, run, runId, seen } = place;
  const { taskFailure } = seen;
  const failure = await run.closedBy();
  const stored = await filesOf(place);
  if (failure !== undefined && stored !== undefined) {
    const { question: _, ...rest } = stored;
    return { report: { ...rest, ...seen, phase: "failed", paused: false, failure } };
  }
  const note =
    taskFailure === undefined
      ? why || standing.note || noWorkerHint(session, standing.taskQueue)
      : taskFailureWords(runId, taskFailure);
  if (stored === undefined) {
    const neverOpened = failure === undefined ? undefined : await unopened(run);
    throw neverOpened ?? new CommandError(await listedWords(session.client, run, note, failure));
  }
  if ((taskFailure ?? why) !== undefined) return { report: { ...stored, ...seen }, note };
  const { notPolledSince } = standing;
  return { report: { ...stored, ...seen, polled: false, ...defined({ notPolledSince }) }, note };
}

/** A run that was let go on and is not opened yet, or has failed before it was: its files alone know where it stood. */
function whereItStood(stored: RunReport, { phase, paused, failure }: RunState): RunReport {
  const { question: _, failure: _before, endedAt: _ended, ...rest } = stored;
  return { ...rest, phase, paused, ...defined({ failure }) };
}

/** Runs that are looked through under one workflow id. */
const MAX_OF_ONE_ID = 100;

/** What Temporal itself knows of a run whose files nobody tells: whether it is over, where it stands, what it asks first. */
export async function listedWords(
  client: Pick<InterlockClient, "runs">,
  run: Pick<RunHandle, "runId" | "workflowId">,
  note: string,
  failure: Fault | undefined,
): Promise<string> {
  const runs = await client.runs({ query: `WorkflowId = ${quoted(run.workflowId)}` }, MAX_OF_ONE_ID);
  const listed = runs.find(({ runId }) => !isRunId(run.runId) || runId === run.runId);
  if (listed === undefined) return note;
  const { phase, paused, nodeId = "", since, question } = listed;
  const where = `${phase}${paused ? ", paused" : ""}${nodeId === "" ? "" : ` at ${nodeId}`}${sentenceTime(since)}`;
  const what = failure === undefined ? question : `${failure.code}: ${failure.message}`;
  // On one line: whoever made the workflow may have written these texts, and lines of their own would pass for ours.
  const known = printable(`Temporal itself knows: ${where}${what === undefined ? "" : `: ${what}`}`);
  if (!isOverPhase(phase)) return `${note}\n${known}`;
  const over =
    "The run is over. Nobody who has its files answers: on the machine of its store, start: interlock worker";
  return `${over}\n${known}`;
}

/** What the run is at, and why it stands still; nothing where nothing is under way. */
async function workOf(run: RunHandle): Promise<Pick<RunReport, "work" | "taskFailure">> {
  const { activities, taskFailure } = await run.pendingWork();
  return { ...(activities.length === 0 ? {} : { work: activities }), ...defined({ taskFailure }) };
}

/** What the files of a run say, here or elsewhere; undefined where they are elsewhere and nobody polls its queue. */
async function filesOf({ session, reader, runId, here }: Place): Promise<RunReport | undefined> {
  if (here !== undefined) return here;
  if (!(await session.hasWorker())) return undefined;
  const facts = await reader.ask("read.run", { run: runId });
  return facts.ok ? reportFromStore(facts.value) : undefined;
}

/** The files say where it stands. */
function unfollowed(error: unknown): InterlockError {
  if (isUnfollowed(error)) return error;
  if (!isNotBegun(error)) throw error;
  const message = "The run has not begun: it was started with a delay, which Temporal keeps.";
  return new InterlockError({ code: "E_PRECONDITION_FAILED", message }, error);
}

/** Undefined where nobody answers, and where nobody can: of a run that was terminated because its workflow task failed, too. */
async function inTime<T>(client: InterlockClient, ask: () => Promise<T>): Promise<T | undefined> {
  const signal = AbortSignal.timeout(QUERY_TIMEOUT_MS);
  try {
    return await abortable(client.temporal, signal, ask);
  } catch (error) {
    if (signal.aborted || isBetweenWorkers(error)) return undefined;
    throw error;
  }
}
