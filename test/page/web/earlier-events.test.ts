import { expect, test } from "vitest";
import type { RunEvent } from "../../../src/core/run/run-event.js";
import { type EventsFrom, eventsBetween } from "../../../src/page/web/earlier-events.js";

const LOG_LINES = 1_000;
/** As many long lines as a store reads at once. */
const PAGE_LINES = 120;

function pageFrom(from: EventsFrom) {
  const lines = "seq" in from ? from.seq - 1 : from.lines;
  const end = Math.min(lines + PAGE_LINES, LOG_LINES);
  const events = Array.from({ length: end - lines }, (_, at) => {
    const common = { schemaVersion: "1.0", runId: "r", ts: "2026-01-01T00:00:00Z", nodeId: "ask" } as const;
    return { ...common, seq: lines + at + 1, kind: "run.phase", phase: "running" } as RunEvent; // all that is looked at
  });
  return Promise.resolve({ events, next: { offset: 500 * end, lines: end }, more: end < LOG_LINES });
}

test("earlier events come without a gap, however many pages of the log they are", async () => {
  for (const [first, end] of [
    [1, 301],
    [401, 701],
    [700, 2_000],
  ] as const) {
    const seqs = (await eventsBetween(pageFrom, first, end)).map(({ seq }) => seq);
    const last = Math.min(end - 1, LOG_LINES);
    expect(seqs).toEqual(Array.from({ length: last - first + 1 }, (_, at) => first + at));
  }
});
