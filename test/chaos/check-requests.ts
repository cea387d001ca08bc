import type { ModelRequest, WorkerLife } from "./evidence.js";
import { type Finding, doubled, lost } from "./finding.js";

/** What a worker needs at most to write an answer down, and from looking for one to its request, on a busy machine. */
const SLOW_MS = 4_000;

/**
 * An answer that was written down is not asked for again. When it was written is not known, only by when at the latest:
 * whoever wrote it did so before it ended. A worker that was stopped meanwhile may have looked before.
 */
export function checkRequests(
  requests: readonly ModelRequest[],
  actedOn: ReadonlySet<string>,
  workers: readonly WorkerLife[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const lives = new Map(workers.map((life) => [life.name, life]));
  for (const { deviation } of requests) if (deviation !== undefined) findings.push(lost(deviation));
  for (const first of requests) {
    if (first.answeredAt === undefined || !actedOn.has(first.name)) continue;
    const writtenBy = latestWriting(first.answeredAt, lives.get(first.worker));
    if (writtenBy === undefined) continue;
    for (const again of requests) {
      if (again.turn !== first.turn || again.at <= writtenBy + slackOf(lives.get(again.worker), writtenBy))
        continue;
      if (mayHaveSlept(lives.get(again.worker), writtenBy, again.at)) continue;
      findings.push(
        doubled(
          `turn ${first.turn} was asked for again ${again.at - writtenBy} ms after its answer was written down.`,
        ),
      );
    }
  }
  return findings;
}

/** Who has only started since then has looked since then. */
function slackOf(life: WorkerLife | undefined, writtenBy: number): number {
  return (life?.events[0]?.at ?? 0) > writtenBy ? 0 : SLOW_MS;
}

/** Undefined when it may have been written at any time. */
function latestWriting(answeredAt: number, life: WorkerLife | undefined): number | undefined {
  const later = life?.events.filter(({ at }) => at >= answeredAt) ?? [];
  const end = later.find(({ what }) => what === "ended")?.at;
  const isSteady =
    life !== undefined &&
    !life.mayPause &&
    !later.some(({ what, at }) => what === "stopped" && at < answeredAt + SLOW_MS);
  if (isSteady) return Math.min(end ?? Number.POSITIVE_INFINITY, answeredAt + SLOW_MS);
  return end;
}

function mayHaveSlept(life: WorkerLife | undefined, from: number, to: number): boolean {
  if (life === undefined || life.mayPause) return true;
  return life.events.some(
    ({ what, at }) => (what === "stopped" || what === "woken") && at >= from - SLOW_MS && at <= to,
  );
}
