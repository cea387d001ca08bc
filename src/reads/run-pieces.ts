import { bounded } from "../contract/bounded.js";
import {
  MAX_TEXT_CHARS,
  MAX_WRITES,
  type StoredWrite,
  type StoredChange,
  type VisitAnswers,
} from "../contract/visit-reads.js";
import type { StoreQuestion } from "../contract/reads.js";
import { type Result, fail, ok } from "../core/errors.js";
import { diffGraphState } from "../core/graph-state/diff.js";
import type { StateDiffItem, StateSnapshotState } from "../core/graph-state/schemas.js";
import { objectOf } from "../core/json.js";
import { excerpt } from "../core/text.js";
import { utf8In } from "../core/written-text.js";
import { DamagedBoundary } from "../store/runs/boundaries.js";
import { DamagedGraphState } from "../store/runs/graph-state-files.js";
import type { RunFiles } from "../store/runs/run-files.js";
import { parseStateDocument } from "../store/runs/state-file.js";
import type { Store } from "../store/store.js";
import { openRun } from "./run-facts.js";
import { auditEvents } from "./audit-events.js";
import { conversationsOf } from "./transcript.js";

/** One tool call. Faults: `E_RUN_NOT_FOUND`, `ENOENT`. */
export async function callOf(
  store: Store,
  asked: StoreQuestion<"read.call">,
): Promise<Result<VisitAnswers["read.call"]>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const { files } = opened.value;
  const isKnown = (await conversationsOf(files)).includes(asked.name);
  const made = isKnown ? await files.conversation(asked.name).findCall(asked.call) : undefined;
  if (made === undefined) return fail("ENOENT", `The conversation has no call "${excerpt(asked.call, 40)}".`);
  const recorded = await files.calls.find(asked.call);
  return ok({
    name: excerpt(made.name),
    arguments: bounded(made.argumentsJson, MAX_TEXT_CHARS),
    result: recorded === undefined ? null : bounded(JSON.stringify(recorded.result), MAX_TEXT_CHARS),
  });
}

/** What a run has written into its project, as its log tells. Fault: `E_RUN_NOT_FOUND`. */
export async function writesOf(store: Store, id: string): Promise<Result<VisitAnswers["read.writes"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  const { files } = opened.value;
  const before = new Map<string, string>();
  const writes: Omit<StoredWrite, "isKept">[] = [];
  for (const { kind, toolCallId: callId, output } of await auditEvents(files)) {
    const {
      ok: isDone,
      path,
      sha256After,
      bytesWritten,
    } = objectOf(kind === "tool.exec" ? output : undefined);
    if (isDone !== true || typeof callId !== "string" || typeof sha256After !== "string") continue;
    if (typeof path !== "string" || !path.startsWith("@project/")) continue;
    const previousSha256 = before.get(path);
    before.set(path, sha256After);
    writes.push({
      callId,
      path,
      sha256: sha256After,
      ...(typeof bytesWritten === "number" ? { bytes: bytesWritten } : {}),
      ...(previousSha256 === undefined ? {} : { previousSha256 }),
    });
  }
  const newest = writes.slice(-MAX_WRITES);
  return ok({ writes: newest.map((write) => ({ ...write, isKept: files.blobs.has(write.sha256) })) });
}

/** What a run has written, by its hash. Fault: `E_RUN_NOT_FOUND`. */
export async function contentOf(
  store: Store,
  asked: StoreQuestion<"read.content">,
): Promise<Result<VisitAnswers["read.content"]>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const bytes = opened.value.files.blobs.read(asked.sha256);
  const text = bytes && utf8In(bytes);
  return ok({ text: text === undefined ? null : bounded(text, MAX_TEXT_CHARS) });
}

/** The state document, now or after a visit. Faults: `E_RUN_NOT_FOUND`, `E_PRECONDITION_FAILED`, `ENOENT`, `E_INTERNAL`. */
export async function documentOf(
  store: Store,
  asked: StoreQuestion<"read.document">,
): Promise<Result<VisitAnswers["read.document"]>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const { run, files } = opened.value;
  if (run.bundle !== undefined) return fail("E_PRECONDITION_FAILED", "A bundle run has no state document.");
  const { visit } = asked;
  const found = visit === undefined ? await files.state.read() : await documentAfter(files, visit);
  if (!found.ok) return found;
  const { bytes, frontmatter } = found.value;
  return ok({
    visit: visit ?? null,
    nodeId: frontmatter.currentNodeId,
    text: bounded(Buffer.from(bytes).toString("utf8"), MAX_TEXT_CHARS),
    variables: frontmatter.variables,
  });
}

async function documentAfter(files: RunFiles, visit: number) {
  const known = await files.boundaries.all();
  const last = known.at(-1)?.visit ?? 0;
  if (!known.some((boundary) => boundary.visit === visit)) {
    return fail("ENOENT", `No visit ${visit} has ended: the run has ended 0 to ${last}.`);
  }
  try {
    return parseStateDocument(files.boundaries.documentAt(visit));
  } catch (error) {
    if (error instanceof DamagedBoundary) return fail("E_INTERNAL", error.message);
    throw error;
  }
}

const MAX_CHANGES = 500;

/** What a visit has changed of the graph state; without one, what the run has. Faults: `E_RUN_NOT_FOUND`, `ENOENT`, `E_INTERNAL`. */
export async function changeOf(
  store: Store,
  asked: StoreQuestion<"read.change">,
): Promise<Result<VisitAnswers["read.change"]>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const { graphState } = opened.value.files;
  const { visit } = asked;
  try {
    const held = await graphState.current();
    if (held === undefined) return ok({ change: null });
    const beginning = { visit: 0, state: held.initial };
    if (visit === undefined)
      return ok({ change: changeBetween(beginning, { visit: null, state: held.state }) });
    const [before, after] = await graphState.snapshots({ upTo: visit, last: 2 }).then((kept) => {
      return kept.length === 1 ? [beginning, ...kept] : kept;
    });
    if (before === undefined || after?.visit !== visit) {
      return fail("ENOENT", `There is no graph state of visit ${visit}: it has not ended, or there is none.`);
    }
    return ok({ change: changeBetween(before, after) });
  } catch (error) {
    if (error instanceof DamagedGraphState) return fail("E_INTERNAL", error.message);
    throw error;
  }
}

interface Moment<V> {
  readonly visit: V;
  readonly state: StateSnapshotState;
}

function changeBetween(from: Moment<number>, to: Moment<number | null>): StoredChange {
  const { added, changed, removed } = diffGraphState(from.state, to.state);
  const some = (items: readonly StateDiffItem[]) => items.slice(0, MAX_CHANGES);
  const isCut = [added, changed, removed].some((items) => items.length > MAX_CHANGES);
  return {
    fromVisit: from.visit,
    toVisit: to.visit,
    added: some(added),
    changed: some(changed),
    removed: some(removed),
    isCut,
  };
}
