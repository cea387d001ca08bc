import { unlessAborted } from "../../client/temporal/abortable.js";
import type { InterlockClient, RunHandle, RunReference } from "../../client/client.js";
import { hasCode } from "../../client/temporal/interlock-error.js";
import { printable } from "../../core/printable.js";
import { isRunId, runIdIn } from "../../core/run/run-id.js";
import { shellName } from "../../core/text.js";
import type { Config } from "../../config.js";
import { type RunMetadata, workflowIdOfRun } from "../../store/runs/run-metadata.js";
import type { Store } from "../../store/store.js";
import { ReadRefused, type StoreReader } from "../../contract/reads.js";
import type { RunFacts } from "../../contract/read-answers.js";
import { isRefusedStart } from "../../contract/signed.js";
import { isNobodyThere, lookAround, noStoreWords, whereAsked } from "./environment.js";
import { isTemporalSilent, isTemporalThere } from "./temporal-there.js";
import { UsageError, CommandError, NoTemporal, printNote, printNoteBlock } from "../terminal/output.js";
import { pollings } from "./known-stores.js";
import { isPruned, notFound, NoSuchRun, noSuchRun } from "./run-folder.js";
import { localReader } from "./readers.js";
import { remoteReader } from "./remote-reader.js";
import { type StoreSession, type TemporalSession, sessionAt, withTemporal } from "./temporal-session.js";
import { taskFailureWords } from "./standstill-words.js";
import type { PendingWork } from "../../client/runs/pending-work.js";
import { failureWords, waitsForWorker, workWords } from "./work-words.js";

/** What a command about one run works with. */
export interface RunSession extends StoreSession {
  readonly run: RunHandle;
  /** What the store on this machine says of the run; undefined where it does not hold it. */
  readonly known: RunMetadata | undefined;
  /** Reads the run's store, on this machine or elsewhere. */
  readonly reader: StoreReader;
  /** What a store elsewhere says of a run that Temporal no longer knows. */
  readonly lost?: RunFacts;
}

/** What a command that reads a run works with. */
export interface RunReading extends Pick<RunSession, "reader" | "known" | "config" | "store"> {
  /** Where the run is not of this machine. */
  readonly session?: TemporalSession;
}

/**
 * Opens a run's store for reading: with Temporal only where the run is not of this machine. `action` is given the run's own id, by
 * whichever it was named. Throws `UsageError` for none.
 */
export async function withReader<T>(
  runId: string,
  action: (place: RunReading & { readonly runId: string }) => Promise<T>,
): Promise<T> {
  const { config, store } = await lookAround();
  const known = await knownHere(store, runId);
  if (known !== undefined && store !== undefined) {
    return action({ config, store, known, reader: localReader(store), runId: known.runId });
  }
  return withRun(runId, ({ reader, session, run }) =>
    action({ config, store, known, reader, session, runId: run.runId }),
  );
}

/** The run, where the store of this machine holds it. Throws for an index that cannot be read. */
async function knownHere(store: Store | undefined, runId: string): Promise<RunMetadata | undefined> {
  const found = await store?.runs.findRun(runId);
  const isFault = found?.ok === false && (found.error.code !== "E_RUN_NOT_FOUND" || isPruned(found.error));
  if (isFault) throw notFound(runId, found.error);
  return found?.ok === true ? found.value : undefined;
}

/** Where a run is that this machine does not hold. */
interface Elsewhere extends Pick<RunSession, "session" | "reader"> {
  /** What its store says of it, where Temporal no longer knows it. */
  readonly lost?: RunFacts;
}

/**
 * The session and the reader of a run that this machine does not hold: its workflow names the queue of its store. Of one that Temporal
 * no longer knows the stores are asked.
 */
export async function elsewhere(session: TemporalSession, run: RunHandle): Promise<Elsewhere> {
  try {
    const there = sessionAt(session, await run.taskQueue());
    return { session: there, reader: remoteReader(there) };
  } catch (error) {
    if (!hasCode(error, "E_RUN_NOT_FOUND")) throw error;
    const found = await storeOfLost(session, run.runId);
    if (found === undefined) throw error;
    return found;
  }
}

/** The first that says that it has a run which Temporal no longer knows, of the stores that somebody polls. Others may be silent. */
async function storeOfLost(session: TemporalSession, runId: string): Promise<Elsewhere | undefined> {
  const configured = session.client.taskQueue;
  const stores = await session.client.stores();
  const queues = await pollings(session.client, [configured, ...stores.map(({ taskQueue }) => taskQueue)]);
  const places = [...queues].flatMap(([queue, { polled }]) => (polled ? [sessionAt(session, queue)] : []));
  let isFound = false;
  const told = places.map(async (place) => {
    const note = (words: string): void => void (isFound || place.note(words));
    const facts = await remoteReader({ ...place, note }).ask("read.run", { run: runId });
    if (!facts.ok) throw new ReadRefused(facts.error);
    isFound = true;
    return { session: place, reader: remoteReader(place), lost: facts.value };
  });
  return Promise.any(told).catch(() => {
    const own = places.find(({ client }) => client.taskQueue === configured);
    return own && { session: own, reader: remoteReader(own) }; // it says itself why it does not tell
  });
}

/**
 * Opens Temporal for a command about one run, and says in one sentence what goes wrong. The embedded server is not started
 * for a run that this store does not hold. Throws `UsageError` for a run that nobody knows.
 */
export async function withRun<T>(
  runId: string,
  action: (place: RunSession) => Promise<T>,
  adapt: (config: Config) => Config = (config) => config,
): Promise<T> {
  const { config: configured, store } = await lookAround();
  const config = adapt(configured);
  const known = await knownHere(store, runId);
  // Temporal may know one that is not opened yet: it is asked where it runs.
  if (isNobodyThere(config, store)) throw new UsageError(noStoreWords(config));
  if (known === undefined && !(await isTemporalThere(config, store)))
    throw noSuchRun(runId, !isTemporalSilent(store));
  let lost: Pick<RunMetadata, "runId" | "phase"> | undefined = known;
  try {
    return await withTemporal({ config, store }, async (place) => {
      const run = await runOf(place.session.client, referenceOf(known) ?? runId);
      const where: Partial<Elsewhere> & Pick<Elsewhere, "reader"> =
        known === undefined || store === undefined
          ? await elsewhere(place.session, run)
          : { reader: localReader(store) };
      lost ??= where.lost?.metadata;
      return action({ ...place, ...where, run, known }).catch(async (error: unknown) => {
        throw error instanceof NoSuchRun ? ((await unopened(run)) ?? error) : error;
      });
    });
  } catch (error) {
    if (!hasCode(error, "E_RUN_NOT_FOUND")) throw error;
    if (lost === undefined) throw noSuchRun(runId, true, whereAsked(config, store));
    throw new CommandError(`${error.message} ${wayBackWords(lost)}`, { cause: error });
  }
}

/**
 * As `withRun`, for what a run's files say by themselves: where no Temporal answers, the files of a run of this machine are enough. `run` is
 * undefined then, and a note says why.
 */
export async function withRunOrFiles<T>(
  runId: string,
  action: (place: Pick<RunSession, "reader"> & { readonly run?: RunHandle }) => Promise<T>,
): Promise<T> {
  try {
    return await withRun(runId, action);
  } catch (error) {
    if (!(error instanceof NoTemporal)) throw error;
    const { store } = await lookAround();
    if (store === undefined || (await knownHere(store, runId)) === undefined) throw error;
    printNoteBlock(error.message); // of a server that did not start, the end of its log too
    printNote("This is what the run's files say.");
    return action({ reader: localReader(store) });
  }
}

/** What to do about a run that a store holds and Temporal no longer knows: one that has completed has nothing to go on with. */
function wayBackWords({ runId, phase }: Pick<RunMetadata, "runId" | "phase">): string {
  return phase === "completed"
    ? `It has completed, and its files are kept: interlock status ${shellName(runId)}`
    : `Start it again from its document with: interlock restore ${shellName(runId)}`;
}

/** What has become of a run that Temporal knows and no store does; undefined for one that a store has had. */
export async function unopened(run: RunHandle): Promise<CommandError | undefined> {
  const { runId } = run;
  try {
    if (await run.wasOpened()) return undefined;
    const failure = await run.closedBy();
    if (failure === undefined) {
      return new CommandError(
        `Run ${runId} is not opened yet, so that no store knows it. To see why: interlock status ${shellName(runId)}`,
      );
    }
    const sentence = `Run ${runId} has failed before it was opened, so that no store knows it: ${printable(`${failure.code}: ${failure.message}`)}`;
    const isRefused = isRefusedStart(failure);
    return new CommandError(
      isRefused ? sentence : `${sentence}\nLet it go on with: interlock retry ${shellName(runId)}`,
    );
  } catch {
    return undefined; // Temporal does not know it either
  }
}

/** The run that is meant by now: under a workflow id there may be another one before somebody has said what they have to say. */
async function runOf(client: InterlockClient, id: RunReference | string): Promise<RunHandle> {
  const run = client.handle(id);
  if (typeof id !== "string" || isRunId(runIdIn(id) ?? id)) return run;
  const named = await run.identify().catch(() => undefined); // what the command itself will say
  return named === undefined ? run : client.handle(named);
}

/** What the store knows of a run's ids. */
export function referenceOf(known: RunMetadata | undefined): RunReference | undefined {
  return known && { runId: known.runId, workflowId: workflowIdOfRun(known) };
}

const SILENCE_MS = 5_000;

/** Why an action is still waited for: nobody takes it, or the run is at something that comes first, such as a model call that is let end. */
function silenceWords(runId: string, work: PendingWork, taskQueue: string): string {
  if (work.taskFailure !== undefined) return taskFailureWords(runId, work.taskFailure);
  const now = Date.now();
  const [activity] = waitsForWorker(work, now) ? [] : work.activities;
  if (activity === undefined)
    return `No worker of the task queue "${taskQueue}" answers yet; waiting. Ctrl-C stops waiting.`;
  const failure = failureWords(activity);
  return `The run is at ${workWords(activity, now)}.${failure === undefined ? "" : ` ${failure}`} Waiting. Ctrl-C stops waiting.`;
}

/** What an action that a worker has to answer gives, unless Ctrl-C comes first. */
export async function unlessInterrupted<T>(
  { signal, session, run }: Pick<RunSession, "signal" | "session" | "run">,
  sentence: string,
  action: Promise<T>,
): Promise<T> {
  const tellWhy = async (): Promise<void> => {
    const work = await run.pendingWork({ signal: AbortSignal.timeout(SILENCE_MS) }).catch(() => undefined);
    if (work === undefined) return; // Temporal is away, and that is said
    printNote(silenceWords(run.runId, work, session.client.taskQueue));
  };
  const silence = setTimeout(() => void tellWhy(), SILENCE_MS);
  try {
    return await unlessAborted(signal, action);
  } catch (error) {
    throw signal.aborted ? new CommandError(sentence) : error;
  } finally {
    clearTimeout(silence);
  }
}
