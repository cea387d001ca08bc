import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { historyGrowth } from "../../client/runs/history-growth.js";
import { type EventsFrom, eventPages } from "../../client/stores/run-events.js";
import { defined } from "../../core/defined.js";
import { nextPause } from "../../core/pace.js";
import type { RunPhase } from "../../core/run/phase.js";
import type { LiveMessages } from "../api.js";
import type { LivePiece } from "../api-visit.js";
import { answered, toRefusal } from "./faults.js";
import type { RunPlace } from "./places.js";

/** While nothing happens, a line says now and then that the connection stands. */
const HEARTBEAT_MS = 15_000;
/** How often it is looked for what comes of an answer, seldomer while nothing does; and where each look is a question to Temporal. */
const PACE = { shortestMs: 400, longestMs: 2_000 };
const PACE_ELSEWHERE = { shortestMs: 2_000, longestMs: 8_000 };

/** A piece, and where to go on reading. */
interface StoredLive extends LivePiece {
  readonly execution: number;
  readonly offset: number;
}

/** A stream of messages to one browser. */
class MessageStream {
  readonly signal: AbortSignal;
  private readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
    const gone = new AbortController();
    const leave = (): void => gone.abort(new Error("The page has gone."));
    if (response.destroyed) leave(); // it is told of once, and its run had to be found first
    else response.once("close", leave);
    this.signal = gone.signal;
    // By itself nginx keeps back what comes until it is pages full, as long as the stream goes on.
    response.writeHead(200, {
      "Content-Type": "text/event-stream; charset=utf-8",
      "X-Accel-Buffering": "no",
    });
    response.flushHeaders();
  }

  /** Waits while the browser takes nothing more. `id` is where a new connection goes on. */
  async send<N extends keyof LiveMessages>(name: N, message: LiveMessages[N], id?: number): Promise<void> {
    const mark = id === undefined ? "" : `id: ${id}\n`;
    await this.write(`event: ${name}\n${mark}data: ${JSON.stringify(message)}\n\n`);
  }

  async beat(): Promise<void> {
    for (;;) {
      await sleep(HEARTBEAT_MS, undefined, { signal: this.signal });
      await this.write(": here\n\n");
    }
  }

  private async write(text: string): Promise<void> {
    this.signal.throwIfAborted();
    if (!this.response.write(text)) await once(this.response, "drain", { signal: this.signal });
  }
}

/**
 * Sends what happens in a run until it is over or the browser has gone. `from` is the `seq` of the first event; absent: the next one.
 * `onFailure` is told of what the server has failed at.
 */
export async function streamRun(
  place: RunPlace,
  response: ServerResponse,
  from: number | undefined,
  onFailure: (error: unknown) => void,
): Promise<void> {
  const stream = new MessageStream(response);
  const over = new AbortController();
  const signal = AbortSignal.any([stream.signal, over.signal]);
  const beside = [stream.beat(), sendPieces(place, stream, signal)].map((task) =>
    task.catch(() => undefined),
  );
  try {
    await sendEvents(place, stream, from === undefined ? { tail: 0 } : { seq: from });
    await stream.send("end", { phase: await lastPhase(place) });
  } catch (error) {
    if (stream.signal.aborted) return;
    const { code, message, status } = toRefusal(error);
    if (status === 500) onFailure(error);
    await stream.send("fault", { error: { code, message } });
  } finally {
    over.abort(new Error("The run is over."));
    response.end();
    await Promise.all(beside);
  }
}

async function sendEvents(place: RunPlace, stream: MessageStream, from: EventsFrom): Promise<void> {
  const { client, handle, reader, runId } = place;
  let isSilent = false;
  const source = {
    reader,
    run: runId,
    grown: historyGrowth(client, handle),
    onSilence: async ({ message }: { readonly message: string }): Promise<boolean> => {
      if (!isSilent) await stream.send("silent", { message });
      isSilent = true;
      return true;
    },
  };
  for await (const { events, next } of eventPages(source, from, stream.signal)) {
    if (isSilent) await stream.send("back", {});
    isSilent = false;
    if (events.length > 0) await stream.send("events", { events, next: next.lines + 1 }, next.lines + 1);
  }
}

async function lastPhase({ describer }: RunPlace): Promise<RunPhase> {
  return (await describer.describe()).run.phase;
}

/** What comes of answers, as long as somebody says it. */
async function sendPieces(place: RunPlace, stream: MessageStream, signal: AbortSignal): Promise<void> {
  const pace = place.reader.isAtHand ? PACE : PACE_ELSEWHERE;
  let last: StoredLive | undefined;
  for (let pauseMs = 0; ;) {
    const live = await liveOf(place, last).catch(() => undefined);
    const isNews = live !== undefined && !isSame(live, last);
    if (isNews) await sendPiece(stream, live);
    else if (live === undefined && last !== undefined) await stream.send("pieceEnd", {});
    pauseMs = nextPause(pace, pauseMs, isNews);
    last = live;
    await sleep(pauseMs, undefined, { signal });
  }
}

/** What is new since the piece before; undefined where no answer is under way. */
async function liveOf(
  { reader, runId }: RunPlace,
  last: StoredLive | undefined,
): Promise<StoredLive | undefined> {
  const asked = { run: runId, ...defined({ since: last && placeOf(last) }) };
  const { answer } = answered(await reader.ask("read.live", asked));
  return (answer as unknown as StoredLive | null) ?? undefined; // as the store reads it
}

function placeOf({ execution, visit, turn, attempt, offset }: StoredLive) {
  return { execution, visit, turn, attempt, offset };
}

async function sendPiece(stream: MessageStream, live: StoredLive): Promise<void> {
  const { visit, turn, attempt, model, startedAt, text, restarts, thinking, calls } = live;
  await stream.send("piece", { visit, turn, attempt, model, startedAt, text, restarts, thinking, calls });
}

function isSame({ execution, offset, restarts }: StoredLive, last: StoredLive | undefined): boolean {
  return last?.execution === execution && last.offset === offset && !restarts;
}
