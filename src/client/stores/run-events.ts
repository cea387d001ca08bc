import type { StoreReader, StoredEvents } from "../../contract/reads.js";
import type { Fault, Result } from "../../core/errors.js";
import type { RunEvent } from "../../core/run/run-event.js";
import { pause } from "../temporal/abortable.js";
import { onceBack, patientReader } from "../temporal/away.js";
import { isOpen } from "../runs/execution-status.js";
import { historyGrowth } from "../runs/history-growth.js";
import { InterlockError } from "../temporal/interlock-error.js";
import type { Addressed } from "../runs/run-address.js";
import type { TemporalAccess } from "../runs/run-start.js";

/** Which events of a run are wanted, and how long they are waited for. */
export interface EventChoice {
  /** The `seq` of the first one; absent means from the beginning. */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

export const EVENT_FIELDS: Readonly<Record<keyof EventChoice, true>> = { from: true, signal: true };

/** The run whose events are read. */
interface ReadRun extends Addressed {
  readonly runId: string;
  readonly reader: StoreReader;
}

/** The events of a run, one after the other, until it is over. */
export async function* runEvents(
  access: TemporalAccess,
  read: ReadRun,
  { from, signal = new AbortController().signal }: EventChoice,
): AsyncGenerator<RunEvent, void> {
  const { temporal } = access;
  const { runId } = read;
  const source: EventSource = {
    reader: patientReader(read.reader, signal),
    run: runId,
    grown: historyGrowth(access, read),
    onSilence: async (_fault, hasAnswered) =>
      hasAnswered && (await onceBack(signal, () => isOpen(temporal, read))),
  };
  for await (const page of eventPages(source, from === undefined ? {} : { seq: from }, signal))
    yield* page.events;
}

/** Where events come from, and how they are waited for. */
export interface EventSource {
  readonly reader: StoreReader;
  /** What the store knows the run by. */
  readonly run: string;
  /** Settles when there may be more, or when the signal ends the waiting; false once the run is over. */
  readonly grown: (signal: AbortSignal) => Promise<boolean>;
  /** Told that nobody who has the store answers, and whether anybody has before; whether to ask again. */
  readonly onSilence: (fault: Fault, hasAnswered: boolean) => Promise<boolean>;
}

/** Where a reader of events begins: at an event, or with the last lines of the log; absent means at the beginning. */
export interface EventsFrom {
  readonly seq?: number;
  readonly tail?: number;
}

const SILENCE_PAUSE_MS = 1_000;

/**
 * The events of a run, page by page, each of them once, until the run is over and all of them are read. Throws the fault of what
 * is not asked for again.
 */
export async function* eventPages(
  source: EventSource,
  from: EventsFrom,
  signal: AbortSignal,
): AsyncGenerator<StoredEvents, void> {
  const { reader, run } = source;
  let where: EventsFrom | { readonly at: StoredEvents["next"] } = from;
  let goesOn = true;
  let hasAnswered = false;
  for (;;) {
    signal.throwIfAborted();
    const page: Result<StoredEvents> = await reader.ask("read.events", { run, ...where });
    if (page.ok) {
      hasAnswered = true;
      where = { at: page.value.next };
      yield page.value;
      if (page.value.more) continue;
    } else if (
      page.error.code === "E_PRECONDITION_FAILED" &&
      (await source.onSilence(page.error, hasAnswered))
    ) {
      await pause(SILENCE_PAUSE_MS, signal);
      continue;
    } else if (!goesOn || page.error.code !== "E_RUN_NOT_FOUND") {
      throw new InterlockError(page.error);
    } // a run that is being opened is in no store yet
    if (!goesOn) return;
    goesOn = await source.grown(signal);
  }
}
