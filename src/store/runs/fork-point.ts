import { type Result, fail, ok } from "../../core/errors.js";
import type { StateSnapshotState } from "../../core/graph-state/schemas.js";
import { unlessUnreadNow } from "../../core/system-code.js";
import { excerpt, listSome } from "../../core/text.js";
import type { Blobs } from "./blobs.js";
import type { Boundary } from "./boundaries.js";
import type { RunFiles } from "./run-files.js";
import type { RunMetadata } from "./run-metadata.js";
import type { RunManager } from "./run-manager.js";

/** The moment of a run that a fork begins with. */
export interface ForkPoint {
  readonly run: RunMetadata;
  readonly files: RunFiles;
  readonly boundary: Boundary;
  /** The state document, as it was. */
  readonly document: Uint8Array;
  readonly written: WrittenFiles;
  /** Of a run with a story. */
  readonly graphState?: StateSnapshotState;
}

/** What a run had written into its project by then, by alias; of a fork also what the runs had written that it comes from. */
export type WrittenFiles = ReadonlyMap<string, { readonly sha256: string; readonly blobs: Blobs }>;

/**
 * Finds where a fork begins: after a visit, where a node was entered last, or both; the newest moment where neither is named. Faults: `E_RUN_NOT_FOUND` for a run that
 * is not in the store, `E_PRECONDITION_FAILED` for one that is no graph run, and for a moment that there never was, with those there were.
 */
export async function findForkPoint(
  runs: RunManager,
  from: { readonly runId: string; readonly fromNode?: string; readonly visit?: number },
): Promise<Result<ForkPoint>> {
  const run = await runs.findRun(from.runId);
  if (!run.ok) return run;
  const files = await runs.openFiles(run.value.projectId, run.value.runId);
  if (!files.ok) return files;
  const boundaries = await files.value.boundaries.all();
  if (boundaries.length === 0) {
    return fail("E_PRECONDITION_FAILED", "The run keeps no node boundaries: only graph runs can be forked.");
  }
  const boundary = boundaries.findLast(
    ({ visit, next }) =>
      (from.visit === undefined || visit === from.visit) &&
      (from.fromNode === undefined || next === from.fromNode),
  );
  if (boundary === undefined) {
    const entered = [...new Set(boundaries.map(({ next }) => next))];
    const visit = from.visit === undefined ? [] : [`visit ${from.visit}`];
    const node = from.fromNode === undefined ? [] : [`"${excerpt(from.fromNode)}"`];
    const wanted = [...node, ...visit].join(" after ");
    return fail(
      "E_PRECONDITION_FAILED",
      `The run was never at ${wanted}. It entered: ${listSome(entered)} (visits 0 to ${boundaries.at(-1)?.visit}).`,
    );
  }
  const held = await files.value.graphState.current();
  const nearest = { upTo: boundary.visit, last: 1 };
  const snapshots = held === undefined ? [] : await files.value.graphState.snapshots(nearest);
  const graphState = snapshots.at(-1)?.state ?? held?.initial;
  const document = files.value.boundaries.documentAt(boundary.visit);
  const written = await writtenBy(runs, run.value, files.value, boundary.calls);
  const point = { run: run.value, files: files.value, boundary, document, written };
  return ok(graphState === undefined ? point : { ...point, graphState });
}

async function writtenBy(
  runs: RunManager,
  { forkedFrom }: RunMetadata,
  { calls, blobs }: RunFiles,
  upTo: number,
): Promise<WrittenFiles> {
  const written = new Map(forkedFrom === undefined ? [] : await writtenBefore(runs, forkedFrom));
  for (const [alias, sha256] of await calls.filesWritten(upTo)) written.set(alias, { sha256, blobs });
  return written;
}

/** Nothing of a source whose files are gone or damaged: a run that is forked from is not pruned, but a folder may be lost. */
async function writtenBefore(
  runs: RunManager,
  { runId, visit }: NonNullable<RunMetadata["forkedFrom"]>,
): Promise<WrittenFiles> {
  const run = await runs.findRun(runId);
  const files = run.ok ? await runs.openFiles(run.value.projectId, runId) : run;
  const boundaries = files.ok ? await files.value.boundaries.all().catch(unlessUnreadNow([])) : [];
  const calls = boundaries.find((each) => each.visit === visit)?.calls;
  return run.ok && files.ok && calls !== undefined
    ? writtenBy(runs, run.value, files.value, calls).catch(unlessUnreadNow(new Map()))
    : new Map();
}

/** How many visits were made before a fork began. A fork of a fork's beginning begins where that one did. */
export async function visitsBefore(runs: RunManager, { forkedFrom }: RunMetadata): Promise<number> {
  if (forkedFrom === undefined || forkedFrom.visit > 0) return forkedFrom?.visit ?? 0;
  const source = await runs.findRun(forkedFrom.runId);
  return source.ok ? visitsBefore(runs, source.value) : 0;
}
