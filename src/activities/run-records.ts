import { ApplicationFailure } from "@temporalio/activity";
import type {
  ModelTurnInput,
  NodeBoundary,
  PhaseInput,
  RecordedPhase,
  SnapshotInput,
  UserInput,
} from "../contract/activities.js";
import { defined } from "../core/defined.js";
import type { AuditHead } from "../core/run/audit-head.js";
import { failpoint } from "../core/failpoint.js";
import type { KeptBoundary } from "../core/run/kept-boundary.js";
import { isOverPhase } from "../core/run/phase.js";
import { addUsage } from "../core/run/usage.js";
import type { JsonObject } from "../core/json.js";
import type { MovedEntries } from "../core/state/earlier-entries.js";
import { DamagedGraphState } from "../store/runs/graph-state-files.js";
import { summarizeForAudit } from "../store/runs/audit-summary.js";
import type { ConversationEntry, UserEntry } from "../store/runs/conversation.js";
import { moveEarlierEntries } from "../store/runs/earlier-files.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { Store } from "../store/store.js";
import type { BundleHost } from "../tools/bundle/bundle-host.js";
import type { RunRef } from "../core/run/run-ref.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import type { OpenRunDeps } from "./begin-execution.js";
import { executionOf, openFiles } from "./run-scope.js";
import { spentInTheEnd } from "./spent-tokens.js";

/** Writes the user's words into the conversation and the audit log, once. Refuses to go on where the files have gone on without them. */
export async function recordUserInput(store: Store, input: UserInput): Promise<AuditHead> {
  const files = await openFiles(store, input.run);
  const { nodeId, text } = input;
  const by = defined({ by: input.by });
  failpoint("input.received");
  const conversation = files.conversation(input.conversation);
  const entries = await conversation.entries();
  const id = freeId(entries, input);
  await conversation.append([{ type: "user", id, nodeId, text, ...by }]);
  failpoint("input.written");
  const digest = summarizeForAudit({ content: text });
  const head = await files.audit.record({ kind: "user.input", id, nodeId, ...by, input: digest }, new Date());
  if (isTooLate(entries, id, input)) throw newerFiles(input.run);
  return head;
}

/**
 * Whether the turn that is to be taken on these words was taken before they came: of a run that Temporal has set back, by a database of an
 * earlier moment. Its files would answer for it, and nobody would hear them.
 */
function isTooLate(entries: readonly ConversationEntry[], id: string, { after }: UserInput): boolean {
  if (after === undefined) return false;
  const at = entries.findIndex((entry) => entry.type === "user" && entry.id === id);
  const before = at === -1 ? entries : entries.slice(0, at);
  return before.some(
    (entry) => entry.type === "assistant" && entry.visit === after.visit && entry.turn > after.turn,
  );
}

function newerFiles({ runId }: RunRef): ApplicationFailure {
  const message = `The files of run ${runId} are newer than the run: they hold an answer of the model to what was said here before. Temporal's database is of an earlier moment. To go on from what the files say: interlock retry ${runId}`;
  return toApplicationFailure({ code: "E_PRECONDITION_FAILED", message });
}

/** Temporal knows an answer's id in one execution only: one that other words, or somebody else, have had must not be taken for them. */
function freeId(said: readonly ConversationEntry[], { inputId, text, by }: UserInput): string {
  const words = new Map(said.flatMap((entry) => (entry.type === "user" ? [[entry.id, entry]] : [])));
  const isOthers = (id: string): boolean => {
    const known: Pick<UserEntry, "text" | "by"> = words.get(id) ?? { text };
    return known.text !== text || (by !== undefined && (known.by ?? by) !== by);
  };
  let id = inputId;
  for (let next = 2; isOthers(id); next += 1) id = `${inputId}-${next}`;
  return id;
}

/** Records a phase: for those who list runs, for those who ask without Temporal, and in the audit log. */
export async function recordPhase(
  { store, bundles }: OpenRunDeps,
  input: PhaseInput,
): Promise<RecordedPhase> {
  const files = await openFiles(store, input.run);
  const { phase, nodeId, change, fault, question, usage, paused, budget, raises } = input;
  const { answeredBy, lastAnswer } = input;
  const spent = isOverPhase(phase) ? await spentInTheEnd(files, change) : undefined;
  const status = {
    phase,
    nodeId,
    change,
    usage: addUsage(usage, spent ?? {}),
    ...defined({ fault, question, answeredBy, lastAnswer }),
    ...(paused === true ? { paused } : {}),
    ...defined({ budget }),
    ...(raises === undefined ? {} : { raises: [...raises] }),
  };
  await files.status.write(status, async (lock) => {
    failpoint("phase.status-written");
    await store.runs.setPhase(input.run, phase, new Date(), lock);
    failpoint("phase.indexed");
    if (input.run.kind === "bundle") await markSession(bundles, input);
  });
  const why = fault === undefined ? {} : { code: fault.code, message: fault.message };
  const how = {
    ...(paused === true ? { paused } : {}),
    ...(budget === undefined ? {} : { budget: budget as unknown as JsonObject }),
  };
  const head = await files.audit.record(
    { kind: "run.phase", id: String(change), phase, nodeId, ...how, ...why, ...defined({ ...spent }) },
    new Date(),
  );
  return { ...head, ...defined({ spent }) };
}

/** The manifest of a bundle run says whether it is complete. */
async function markSession(bundles: BundleHost, { run, phase }: PhaseInput): Promise<void> {
  const status = phase === "completed" ? "complete" : phase === "failed" ? "failed" : "running";
  const marked = await bundles.markSession(run.runId, status, new Date(), executionOf(run));
  // A session that cannot be marked does not hide why the run failed: often it is the reason.
  if (status !== "failed") unwrap(marked);
}

/**
 * Keeps the boundary of a visit whose last call has led the run to another node. Undefined, and nothing is kept, where the run stands where it
 * stood, where the document is not what that call has made of it (`stateSha256`), and where it cannot be done: then the workflow sees to it.
 */
export async function keepPassedNode(
  store: Store,
  { run, visit, nodeId }: Pick<ModelTurnInput, "run" | "visit" | "nodeId">,
  stateSha256: string,
): Promise<KeptBoundary | undefined> {
  try {
    const files = await openFiles(store, run);
    const { bytes, sha256: documentSha256, frontmatter } = unwrap(await files.state.read());
    const next = frontmatter.currentNodeId.trim();
    if (documentSha256 !== stateSha256 || next === "" || next === nodeId) return undefined;
    await keepBoundary(files, { visit, nodeId, next, timestamp: new Date().toISOString() }, bytes);
    return { visit, next, documentSha256 };
  } catch {
    return undefined;
  }
}

async function keepBoundary(
  { calls, boundaries }: RunFiles,
  { visit, nodeId, next, timestamp }: Omit<NodeBoundary, "documentSha256">,
  document: Uint8Array,
): Promise<void> {
  await boundaries.keep({ visit, nodeId, next, timestamp, calls: await calls.count() }, document);
}

/**
 * Keeps the graph state, and at a node boundary the state document as it stands. Then what is too much for it is moved. With neither it
 * is the bar of a node whose boundary is kept already.
 */
export async function recordSnapshot(
  store: Store,
  { run, boundary, graph }: SnapshotInput,
): Promise<MovedEntries | undefined> {
  if (boundary === undefined && graph === undefined) return undefined;
  const files = await openFiles(store, run);
  if (boundary !== undefined) {
    const { bytes } = unwrap(await files.state.read());
    await keepBoundary(files, boundary, bytes);
  }
  if (graph !== undefined) {
    await files.graphState.keep(graph, boundary).catch((error: unknown) => {
      if (!(error instanceof DamagedGraphState)) throw error;
      throw ApplicationFailure.nonRetryable(error.message, "E_INTERNAL");
    });
  }
  return boundary && moveEarlierEntries(files, boundary);
}
