import { MAX_FILES_READ, MAX_VISITS, type RunCourse, type VisitAnswers } from "../contract/visit-reads.js";
import { defined } from "../core/defined.js";
import { type Result, ok } from "../core/errors.js";
import { type JsonObject, objectOf } from "../core/json.js";
import type { RunBelowState } from "../core/run/run-state.js";
import type { Store } from "../store/store.js";
import { openRun } from "./run-facts.js";
import { auditEvents } from "./audit-events.js";

/** Which way a run has gone, and where it was held back. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL`. */
export async function courseOf(store: Store, id: string): Promise<Result<VisitAnswers["read.course"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  const { run, files } = opened.value;
  const [beginning, ...visits] = await files.boundaries.all();
  const moves = new Tally();
  const refused = new Tally();
  const entered = new Map<string, number>();
  for (const { visit, nodeId, next } of [...(beginning === undefined ? [] : [beginning]), ...visits]) {
    if (visit > 0) entered.set(nodeId, (entered.get(nodeId) ?? 0) + 1);
    if (visit > 0 && nodeId !== next) moves.add(nodeId, next);
  }
  const events = await auditEvents(files);
  const below = runsBelowIn(events);
  for (const event of events) {
    const move = refusedMove(event);
    if (move !== undefined) refused.add(move.from, move.to);
  }
  return ok({
    visits: visits.slice(-MAX_VISITS).map(({ visit, nodeId, next, timestamp }) => {
      return { visit, nodeId, next, endedAt: timestamp, ...defined({ below: below.get(visit) }) };
    }),
    visitCount: visits.length,
    next: (visits.at(-1) ?? beginning)?.next ?? "",
    moves: moves.all(),
    refused: refused.all(),
    entered: [...entered].map(([nodeId, count]) => ({ nodeId, count })),
    filesRead: run.bundle === undefined ? [] : filesReadIn(events),
  });
}

/** Counts moves. Nodes are named by texts of packages. */
class Tally {
  private readonly counts = new Map<string, { from: string; to: string; count: number }>();

  add(from: string, to: string): void {
    const key = JSON.stringify([from, to]);
    const known = this.counts.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.counts.size < MAX_VISITS) this.counts.set(key, { from, to, count: 1 });
  }

  all(): RunCourse["moves"] {
    return [...this.counts.values()];
  }
}

/** A call that the guard has refused, as its event tells. */
function refusedMove({
  kind,
  output,
}: JsonObject): { readonly from: string; readonly to: string } | undefined {
  const { error } = objectOf(kind === "tool.exec" ? output : undefined);
  const { code, details } = objectOf(error);
  const { from, to } = objectOf(details);
  if (code !== "E_INVALID_TRANSITION" || typeof from !== "string" || typeof to !== "string") return undefined;
  return { from, to };
}

/** The runs of subworkflows that have ended, by the visit that waited for them. */
function runsBelowIn(events: readonly JsonObject[]): ReadonlyMap<number, RunBelowState> {
  const found = new Map<number, RunBelowState>();
  for (const { kind, visit, childRunId: runId, workflow } of events) {
    if (kind !== "node.pass" || typeof visit !== "number" || typeof runId !== "string") continue;
    found.set(visit, { runId, workflowRef: typeof workflow === "string" ? workflow : "" });
  }
  return found;
}

function filesReadIn(events: readonly JsonObject[]): RunCourse["filesRead"] {
  const files = new Map<string, { path: string; reads: number; firstAt: string }>();
  for (const { kind, toolName, input, output, ts } of events) {
    if (kind !== "tool.exec" || toolName !== "read_file" || objectOf(output)["success"] === false) continue;
    const { file_path: path } = objectOf(input);
    if (typeof path !== "string" || typeof ts !== "string") continue;
    const known = files.get(path);
    if (known !== undefined) known.reads += 1;
    else if (files.size < MAX_FILES_READ) files.set(path, { path, reads: 1, firstAt: ts });
  }
  return [...files.values()];
}
