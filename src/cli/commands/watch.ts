import { setTimeout as sleep } from "node:timers/promises";
import { type Once, onceFor, patientReader } from "../../client/temporal/away.js";
import type { RunHandle } from "../../client/client.js";
import { type ClosedRun, closedAs, closedFault } from "../../client/runs/closed-run.js";
import { isOpen, isOpenStatus } from "../../client/runs/execution-status.js";
import { historyGrowth } from "../../client/runs/history-growth.js";
import { InterlockError, hasCode } from "../../client/temporal/interlock-error.js";
import { type EventSource, type EventsFrom, eventPages } from "../../client/stores/run-events.js";
import { MAX_TAIL } from "../../contract/reads.js";
import { firstLine } from "../../core/run/listed-texts.js";
import type { RunEvent } from "../../core/run/run-event.js";
import { isServed } from "../../embedded/server.js";
import { turnAfter } from "../report/event-lines.js";
import { desktopNotice, expectTerminal } from "../terminal/desktop-notice.js";
import { lookAround } from "../session/environment.js";
import { wholeNumber } from "../options/numbers.js";
import { CommandError, EXIT, type ExitCode, printNote, printNoteBlock } from "../terminal/output.js";
import { liveAnswers } from "../follow/live-answers.js";
import { read } from "../session/run-folder.js";
import { printReport, wayOn } from "../report/print-report.js";
import { type RunReport, reportFromStore, tellsOf } from "../report/run-report.js";
import { type RunReading, type RunSession, unopened, withReader, withRun } from "../session/run-session.js";
import { saidByRun } from "../follow/said-by-run.js";
import { nobodyWorks, unfollowed } from "../follow/follow-and-report.js";
import { type WatchView, watchView } from "../follow/watch-view.js";
import { watchWork } from "../follow/watch-work.js";
import { webLinkOf } from "../session/web-link.js";
import { isOverPhase } from "../../core/run/phase.js";
import { shortRunId } from "../../core/run/run-id.js";
import { sayingOnce } from "../../core/saying-once.js";
import { shellName } from "../../core/text.js";
import { interruption } from "../terminal/interruption.js";
import { noWorkerHint } from "../session/standstill-words.js";

interface WatchOptions {
  readonly tail?: string;
  readonly events?: boolean;
  /** A notice on the desktop when it ends or asks. */
  readonly notify?: boolean;
}

/** A run that is watched, and how it is shown. */
interface Watched {
  readonly runId: string;
  readonly from: EventsFrom;
  readonly asEvents: boolean;
  readonly notify: boolean;
  readonly signal: AbortSignal;
  readonly view: WatchView;
}

const FILE_PAUSE_MS = 300;
const STATE_PATIENCE_MS = 3_000;

/** `interlock watch`: what happens in a run, until it is over or asks. It only looks. */
export async function watchCommand(runId: string, options: WatchOptions): Promise<ExitCode> {
  const { tail, events: asEvents = false, notify = false } = options;
  if (notify) expectTerminal();
  const from = tail === undefined ? {} : { tail: Math.min(MAX_TAIL, wholeNumber("--tail", tail)) };
  const view = watchView(asEvents, tail === undefined);
  const watched = { runId, from, asEvents, notify, view };
  const { config, store } = await lookAround();
  const known = await store?.runs.findRun(runId);
  const isHere = known?.ok === true && store !== undefined;
  const isOver = isHere && known.value.phase === "completed";
  const isWorkedOn = config.temporal !== undefined || (isHere && (await isServed(store.dir)));
  if (isHere && (isOver || !isWorkedOn)) {
    if (!isOver) printNote(noWorkerHint({ embedded: true, isHere: true }, store.taskQueue));
    return withReader(runId, (place) => watchFiles(place, { ...watched, signal: interruption() }));
  }
  return withRun(runId, (place) => {
    const isKept = place.lost !== undefined && isOverPhase(place.lost.metadata.phase);
    return (isKept ? watchFiles : watchServed)(place, { ...watched, signal: place.signal });
  });
}

/** A run that only its files tell of. */
async function watchFiles(place: RunReading, watched: Watched): Promise<ExitCode> {
  const { reader } = place;
  const run = place.known?.runId ?? watched.runId;
  const source: EventSource = {
    reader,
    run,
    onSilence: () => Promise.resolve(false), // files answer
    async grown(signal) {
      await sleep(FILE_PAUSE_MS, undefined, { signal });
      const { metadata } = read(run, await reader.ask("read.run", { run }));
      return !isOverPhase(metadata.phase);
    },
  };
  return show({ ...watched, source }, place);
}

async function watchServed(place: RunSession, watched: Watched): Promise<ExitCode> {
  const { run, store, known, session, signal } = place;
  const { view } = watched;
  const ended = new AbortController();
  const stop = AbortSignal.any([signal, ended.signal]);
  const once = onceFor(session, stop);
  const reader = session.embedded ? place.reader : patientReader(place.reader, stop);
  const here = known === undefined ? undefined : ending(run, stop, once);
  const watchedRun = known === undefined ? session.client.handle(await run.identify()) : run;
  const say = sayingOnce(printNote);
  const source: EventSource = {
    reader,
    run: watchedRun.runId,
    grown: here?.grown ?? historyGrowth(session.client, watchedRun),
    async onSilence(fault, hasAnswered) {
      // A store that refuses to be asked does not change its mind.
      if (!hasAnswered && fault.details?.["nobodyAnswers"] !== true) return false;
      if (!(await once(() => isOpen(session.client.temporal, watchedRun)))) return false;
      say(fault.message);
      return true;
    },
  };
  let turn = "";
  if (view.wait !== undefined) session.followed();
  const working =
    view.wait &&
    watchWork(
      run,
      {
        live: liveAnswers({ store, reader }, source.run),
        nobody: () => nobodyWorks(session),
        still: saidByRun(session.client.temporal, run),
      },
      () => ({ turn }),
      view.wait,
      stop,
    );
  try {
    const seen = (event: RunEvent): void => {
      turn = turnAfter(event, turn);
    };
    return await show({ ...watched, source, seen }, { ...place, workflowId: watchedRun.workflowId });
  } catch (error) {
    throw unfollowed(error, watched.runId, session.embedded);
  } finally {
    ended.abort();
    await here?.settled;
    await working;
  }
}

/** A run of this machine: its log is a file, and Temporal says when it is over. */
function ending(run: RunHandle, stop: AbortSignal, once: Once) {
  let isSettled = false;
  const wait = () =>
    once(() => run.resultUnlessAway({ signal: stop })).then(
      () => void (isSettled = true),
      () => void (isSettled = true),
    );
  let settled = wait();
  return {
    get settled() {
      return settled;
    },
    grown: async (signal: AbortSignal): Promise<boolean> => {
      await Promise.race([sleep(FILE_PAUSE_MS, undefined, { signal }), settled]);
      signal.throwIfAborted();
      if (!isSettled) return true;
      const status = await once(() => run.executionStatus()).catch((error: unknown) => {
        if (error instanceof InterlockError) return "GONE"; // Temporal has forgotten it
        throw error;
      });
      if (!isOpenStatus(status)) return false;
      isSettled = false;
      settled = wait();
      await sleep(FILE_PAUSE_MS, undefined, { signal });
      return true;
    },
  };
}

interface Shown extends Watched {
  readonly source: EventSource;
  readonly seen?: (event: RunEvent) => void;
}

type Place = RunReading & Partial<Pick<RunSession, "run">> & { readonly workflowId?: string };

/** Shows the events, and at the end where the run stands. */
async function show(watched: Shown, place: Place): Promise<ExitCode> {
  const { source, from, signal, view, seen } = watched;
  let last: RunEvent | undefined;
  try {
    for await (const page of eventPages(source, from, signal)) {
      for (const event of page.events) seen?.(event);
      view.show(page.events, page);
      last = page.events.at(-1) ?? last;
      if (!page.more && last !== undefined && (await stillAsks(last, source, place))) break;
    }
  } catch (error) {
    view.close();
    if (!signal.aborted) throw await asSentence(error, place.run);
    printNote(
      `Stopped watching. The run is as it was. See it again with: interlock watch ${shellName(source.run)}`,
    );
    throw new CommandError(`Run ${source.run} is not over.`, { cause: error });
  }
  view.close();
  return reportEnd(watched, place);
}

async function asSentence(thrown: unknown, run: RunHandle | undefined): Promise<unknown> {
  const isUnknown = run !== undefined && hasCode(thrown, "E_RUN_NOT_FOUND");
  return (isUnknown ? await unopened(run) : undefined) ?? thrown;
}

/** Whether the run waits with the question that its last event tells of: somebody may have answered it since. */
async function stillAsks(last: RunEvent, source: EventSource, place: Place): Promise<boolean> {
  if (last.kind !== "run.phase" || last.phase !== "waiting-user") return false;
  const facts = await source.reader.ask("read.run", { run: source.run });
  if (!facts.ok) return false;
  const { status } = facts.value;
  if (status?.["phase"] !== "waiting-user" || status["change"] !== last.change) return false;
  // The run knows it first; where nobody works on it, it waits as its files say.
  const state = await Promise.race([
    place.run?.state().catch(() => undefined),
    sleep(STATE_PATIENCE_MS, undefined, { ref: false }),
  ]);
  return state === undefined || state.phase === "waiting-user";
}

/** Says how the run stands: for people in full, and for those who read events only what it asks. */
async function reportEnd({ source, asEvents, notify }: Shown, place: Place): Promise<ExitCode> {
  const facts = read(source.run, await source.reader.ask("read.run", { run: source.run }));
  const { report, link } = await ofTemporal(reportFromStore(facts), place);
  if (notify) desktopNotice(endWords(report));
  if (!asEvents) {
    printReport({ ...report, webUrl: link?.url ?? null }, facts.projectRoot ?? undefined, link?.how);
  } else if (report.question !== undefined) {
    printNote(`The run asks, at ${report.question.nodeId}:`);
    printNoteBlock(report.question.text, "  │ ");
    printNote(wayOn(report.runId, report.question));
  }
  if (report.phase === "waiting-user") return EXIT.waiting;
  return report.phase === "completed" ? EXIT.done : EXIT.failed;
}

/** The end of watching, for the desktop. */
function endWords({ runId, phase, question }: RunReport): string {
  const run = `run ${shortRunId(runId)}`;
  return question === undefined ? `${run} ${phase}` : `${run} asks: ${firstLine(question.text)}`;
}

/** Whether the files of a run tell of this failure, and not of one before: an execution that fails before it is opened leaves nothing in them. */
async function isTold(closed: ClosedRun, report: RunReport, run: RunHandle): Promise<boolean> {
  return tellsOf(report, closed) || (report.phase === "failed" && (await run.wasOpened()));
}

/** What the run's files do not know: that Temporal has closed it by itself, and its page there. */
async function ofTemporal(report: RunReport, { run, session, workflowId }: Place) {
  if (run === undefined || session === undefined) return { report };
  try {
    const named = {
      workflowId: workflowId ?? run.workflowId,
      executionRunId: () => run.executionRunId(),
    };
    const link = await webLinkOf(session, named, { after: true });
    const closed = await closedAs(run);
    if (closed === undefined || (await isTold(closed, report, run))) return { report, link };
    const failure = closedFault(closed);
    const { question: _, ...rest } = report;
    return { report: { ...rest, phase: "failed" as const, failure, ...(await run.times()) }, link };
  } catch (error) {
    if (!(error instanceof InterlockError)) throw error;
    return { report }; // Temporal has forgotten it
  }
}
