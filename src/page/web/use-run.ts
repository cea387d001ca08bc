import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { RunDescription, RunGraph, RunStanding } from "../api-run.js";
import type { LivePiece } from "../api-visit.js";
import { LIVE_PATH, type LiveMessages } from "../api.js";
import type { RunEvent } from "../../core/run/run-event.js";
import { apiPath } from "./api-place.js";
import { type PageError, ask, withQuery } from "./ask.js";
import { eventsBetween } from "./earlier-events.js";
import { type EventRow, toEventRow } from "./event-rows.js";
import { type Asked, useAnswer } from "./use-asked.js";
import { isOverPhase } from "../../core/run/phase.js";

/** A run as the page holds it: asked for once, then told what happens. */
export interface WatchedRun {
  readonly run: string;
  readonly description: Asked<RunDescription>;
  readonly standing: Asked<RunStanding>;
  readonly graph: Asked<{ readonly graph: RunGraph | null }>;
  readonly events: EventList;
  /** What has come of the answer under way. */
  readonly live: LiveAnswer | undefined;
  /** Counts what has happened: what depends on it is asked for anew. */
  readonly round: number;
  /** After something was done to it. */
  readonly again: () => void;
}

export interface EventList {
  readonly rows: readonly EventRow[];
  readonly isWhole: boolean;
  readonly error: PageError | undefined;
  readonly older: () => void;
}

export interface LiveAnswer extends Omit<LivePiece, "restarts"> {}

const FIRST_LINES = 300;
/** Rows that are held: a long run's older ones are let go. */
const MAX_ROWS = 20_000;
const MAX_LIVE_CHARS = 200_000;
const SETTLE_MS = 400;
const POLL_MS = 3_000;

export function useRun(run: string): WatchedRun {
  const description = useAnswer("run", { run }, { everyMs: POLL_MS });
  const standing = useAnswer("standing", { run }, { everyMs: 10_000 });
  const graph = useAnswer("graph", { run }, { everyMs: 15_000 });
  const [round, setRound] = useState(0);
  const again = useCallback(() => {
    description.again();
    standing.again();
    graph.again();
    setRound((count) => count + 1);
  }, [description.again, standing.again, graph.again]);
  const { list, add } = useEvents(run);
  const settled = useSettled(again);
  const phase = description.value?.row.phase;
  // When it ended tells two ends apart between which nobody has looked: a retry may fail at once.
  const ended =
    phase !== undefined && isOverPhase(phase) ? (description.value?.times.endedAt ?? "") : undefined;
  useChanged(phase && `${phase} ${ended}`, again); // what was asked for before the change is of before it, also where no event comes by
  useChanged(description.error?.code ?? "", again); // what is asked more seldom would say for long that nobody answers
  const live = useLive(run, list.next, ended, (events) => {
    add(events);
    settled();
  });
  return { run, description, standing, graph, events: list, live, round, again };
}

/** Calls when a value that was known becomes another one. */
function useChanged(value: string | undefined, call: () => void): void {
  const before = useRef(value);
  useEffect(() => {
    if (before.current !== undefined && before.current !== value) call();
    before.current = value;
  }, [value]);
}

/** Calls once when nothing more has come for a moment. */
function useSettled(call: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, SETTLE_MS);
  }, []);
}

interface HeldEvents {
  readonly rows: readonly EventRow[];
  /** The first line that has been asked for. */
  readonly from: number;
  /** The next event's `seq`; undefined before the first answer. */
  readonly next: number | undefined;
  readonly error?: PageError;
}

function useEvents(run: string) {
  const [held, setHeld] = useState<HeldEvents>({ rows: [], from: 1, next: undefined });
  const add = useCallback(
    (events: readonly RunEvent[]) => setHeld((before) => withEvents(before, events)),
    [],
  );
  const first = useAnswer("events", { run, tail: FIRST_LINES });
  useEffect(() => {
    const { value } = first;
    if (value === undefined) return;
    const rows = value.events.map(toEventRow);
    setHeld({ rows, from: rows[0]?.seq ?? 1, next: value.next.lines + 1 });
  }, [first.value]);
  const older = useCallback(() => {
    const from = Math.max(1, held.from - FIRST_LINES);
    void eventsBetween((where) => ask("events", { run, ...where }), from, held.from)
      .then((events) => setHeld((before) => withOlder(before, from, events)))
      .catch(() => undefined); // it is asked again when somebody scrolls there
  }, [run, held.from]);
  const isWhole = held.from <= 1;
  return { list: { rows: held.rows, next: held.next, isWhole, error: first.error, older }, add };
}

function withEvents(before: HeldEvents, events: readonly RunEvent[]): HeldEvents {
  const last = before.rows.at(-1)?.seq ?? 0;
  const fresh = events.filter(({ seq }) => seq > last).map(toEventRow);
  if (fresh.length === 0) return before;
  const rows = [...before.rows, ...fresh].slice(-MAX_ROWS);
  return { ...before, rows, from: rows.length === MAX_ROWS ? (rows[0]?.seq ?? 1) : before.from };
}

function withOlder(before: HeldEvents, from: number, events: readonly RunEvent[]): HeldEvents {
  const fresh = events.filter(({ seq }) => seq < before.from).map(toEventRow);
  return { ...before, rows: [...fresh, ...before.rows], from };
}

/**
 * Follows the run by a stream of its server, while somebody looks. When the run ends, goes on or has ended anew, a new one is opened: of a
 * run that is over it brings what is still missing, and ends.
 */
function useLive(
  run: string,
  seq: number | undefined,
  ended: string | undefined,
  onEvents: (events: readonly RunEvent[]) => void,
): LiveAnswer | undefined {
  const [live, setLive] = useState<LiveAnswer>();
  const told = useRef(onEvents);
  told.current = onEvents;
  const next = useRef(0);
  const isReady = seq !== undefined;
  useEffect(() => {
    if (!isReady) return undefined;
    next.current = Math.max(next.current, seq);
    return follow(run, {
      next: () => next.current,
      events: (events, after) => {
        next.current = Math.max(next.current, after);
        told.current(events);
      },
      live: setLive,
    });
  }, [run, isReady, ended]);
  return ended === undefined ? live : undefined;
}

interface Follower {
  /** The first event that is wanted. */
  readonly next: () => number;
  readonly events: (events: readonly RunEvent[], next: number) => void;
  readonly live: (change: (before: LiveAnswer | undefined) => LiveAnswer | undefined) => void;
}

function follow(run: string, follower: Follower): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const close = () => {
    source?.close();
    source = undefined;
    clearTimeout(timer);
  };
  const open = () => {
    close();
    if (document.hidden) return;
    const opened = new EventSource(withQuery(apiPath(LIVE_PATH), { run, seq: follower.next() }));
    source = opened;
    const on = <N extends keyof LiveMessages>(name: N, take: (message: LiveMessages[N]) => void) =>
      opened.addEventListener(name, (event: MessageEvent<string>) => {
        take(JSON.parse(event.data) as LiveMessages[N]); // both sides have their types from one place
      });
    on("events", ({ events, next }) => follower.events(events, next));
    on("piece", (piece) => follower.live((before) => joined(before, piece)));
    on("pieceEnd", () => follower.live(() => undefined));
    on("end", close);
    // Each begins with all that has come of the answer under way, and says nothing where none is any more.
    opened.addEventListener("open", () => follower.live(() => undefined));
    const openLater = () => {
      close();
      timer = setTimeout(open, POLL_MS);
      void askOnce(run, follower);
    };
    on("fault", openLater);
    // One that was refused is not opened again by the browser: it may have too many.
    opened.addEventListener("error", () => {
      if (opened.readyState === EventSource.CLOSED) openLater();
    });
  };
  document.addEventListener("visibilitychange", open);
  open();
  return () => {
    document.removeEventListener("visibilitychange", open);
    close();
  };
}

/** What has happened since, where no stream tells of it. */
async function askOnce(run: string, follower: Follower): Promise<void> {
  const page = await ask("events", { run, seq: follower.next() }).catch(() => undefined);
  if (page !== undefined && page.events.length > 0) follower.events(page.events, page.next.lines + 1);
}

function joined(before: LiveAnswer | undefined, { restarts, ...piece }: LivePiece): LiveAnswer {
  const goesOn =
    before?.visit === piece.visit &&
    before.turn === piece.turn &&
    before.attempt === piece.attempt &&
    !restarts;
  const text = goesOn ? before.text + piece.text : piece.text;
  return { ...piece, text: text.slice(-MAX_LIVE_CHARS) };
}
