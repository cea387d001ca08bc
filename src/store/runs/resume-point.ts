import { defined } from "../../core/defined.js";
import { type Result, ok } from "../../core/errors.js";
import type { GraphState } from "../../core/graph-state/schemas.js";
import { MAX_SNAPSHOTS, withSnapshot } from "../../core/graph-state/walk.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import { effectiveNodeId } from "../../core/state/transition-guard.js";
import type { AuditHead } from "../../core/run/audit-head.js";
import type { AuditTotals } from "./audit-totals.js";
import type { Boundary } from "./boundaries.js";
import type { AssistantEntry, ConversationEntry } from "./conversation.js";
import type { RunFiles } from "./run-files.js";
import type { RunStatus } from "./status-file.js";

/** Of the user's words, so many are told. */
const KEPT_WORDS = 4;

/** Where a run goes on, as its folder says. */
export interface ResumePoint extends Pick<AuditTotals, "turn" | "turnsBelow" | "usage"> {
  /** The last visit that was begun. */
  readonly visit: number;
  readonly phaseChanges: number;
  readonly audit: AuditHead;
  /** As the last phase change left it. */
  readonly status: RunStatus | undefined;
  /** What the user said in the last visits, newest last. */
  readonly said: readonly SaidByUser[];
  /** Of a run with a story: its graph state, and which nodes were entered, by their place in the graph. */
  readonly graphState?: {
    readonly state: GraphState;
    readonly change: number;
    readonly visited: readonly number[];
  };
}

export type SaidByUser = Extract<ConversationEntry, { readonly type: "user" }>;

/** The model's last answer, and whose it was. */
export interface LastModelAnswer {
  readonly entry: AssistantEntry;
  readonly nodeId: string;
  readonly agentId: string;
}

/**
 * Finds where a run goes on: a new execution goes on where the last one stopped. The boundary of a visit that was cut short
 * is completed. Fault: that of a state document which cannot be read.
 */
export async function findResumePoint(files: RunFiles, graph: WorkflowGraph): Promise<Result<ResumePoint>> {
  const totals = await files.audit.totals();
  const status = await files.status.read();
  const kept = await files.boundaries.all();
  // A visit that was begun and has no turn yet counts as well: its conversation may hold the user's words.
  const visit = Math.max(totals.visit, kept.at(-1)?.visit ?? 0, await files.newestVisit());
  const boundaries = await withLastBoundary(files, kept, visit, graph);
  if (!boundaries.ok) return boundaries;
  const graphState = await heldGraphState(files, boundaries.value, graph);
  return ok({
    visit,
    turn: totals.turn,
    usage: totals.usage,
    ...defined({ turnsBelow: totals.turnsBelow }),
    // A change may be in the status and not in the log yet: its number is taken.
    phaseChanges: Math.max(totals.phaseChanges, status?.change ?? 0),
    audit: await files.audit.head(),
    status,
    said: await newestWords(files),
    ...defined({ graphState }),
  });
}

/** What the model answered last. The run may have failed before all that ran of it was noted. */
export async function findLastAnswer(
  files: RunFiles,
  graph: WorkflowGraph,
  activeAgentId: string,
): Promise<LastModelAnswer | undefined> {
  const visit = await files.newestVisit();
  const entries = await files.conversation(conversationOf(visit)).entries();
  const answer = entries.findLast((entry) => entry.type === "assistant");
  if (answer === undefined) return undefined;
  const nodeId =
    (await files.boundaries.all()).findLast((item) => item.visit < visit)?.next ?? graph.entryNodeId;
  const agentId = graph.nodes.find(({ id }) => id === nodeId)?.agentId ?? activeAgentId;
  return { entry: answer, nodeId, agentId };
}

/** A bundle run has one conversation for all of it, and no visits. */
function conversationOf(visit: number): string {
  return visit === 0 ? "run" : `visit-${visit}`;
}

async function newestWords(files: RunFiles): Promise<readonly SaidByUser[]> {
  const newest = await files.newestVisit();
  const names = newest === 0 ? [conversationOf(0)] : [newest - 1, newest].map((visit) => `visit-${visit}`);
  const entries = await Promise.all(names.map((name) => files.conversation(name).entries()));
  return entries
    .flat()
    .filter((entry) => entry.type === "user")
    .slice(-KEPT_WORDS);
}

async function heldGraphState(
  files: RunFiles,
  boundaries: readonly Boundary[],
  graph: WorkflowGraph,
): Promise<ResumePoint["graphState"]> {
  const held = await files.graphState.current();
  if (held === undefined) return undefined;
  const snapshots = await files.graphState.snapshots({ last: MAX_SNAPSHOTS });
  let state: GraphState = { ...held.state, stateHistory: [] };
  for (const { timestamp, state: then } of snapshots) state = withSnapshot(state, { timestamp, state: then });
  const entered = new Set(boundaries.map(({ next }) => next));
  const visited = graph.nodes.flatMap(({ id }, place) => (entered.has(id) ? [place] : []));
  return { state, change: held.change, visited };
}

/** The visit that was cut short may have moved the run on before its end could be kept: then it is kept now. */
async function withLastBoundary(
  files: RunFiles,
  kept: readonly Boundary[],
  visit: number,
  graph: WorkflowGraph,
): Promise<Result<readonly Boundary[]>> {
  const last = kept.at(-1);
  if (last === undefined) return ok(kept);
  const document = await files.state.read();
  if (!document.ok) return document;
  const next = effectiveNodeId(document.value.frontmatter.currentNodeId, graph);
  if (last.next === next || last.visit >= visit) return ok(kept);
  const at = { visit, nodeId: last.next, next, timestamp: new Date().toISOString() };
  await files.boundaries.keep({ ...at, calls: await files.calls.count() }, document.value.bytes);
  return ok(await files.boundaries.all());
}
