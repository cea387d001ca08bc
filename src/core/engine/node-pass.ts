import type { Fault } from "../errors.js";
import type { JsonObject } from "../json.js";
import { type GraphNode, findNode } from "../package/graph.js";
import type { FrontmatterUpdate } from "../tools/tool-specs.js";
import { changedDocument, listsFault } from "./state-changes.js";
import type { EngineLimits } from "../run/limits.js";
import type { RunRecord } from "./run-record.js";

/** What is decided at nodes that the engine does by itself (contracts §9). */

/** The node of the visit at hand, where it needs no model. */
export function nodeWithoutModel({ open, carried }: RunRecord): GraphNode | undefined {
  const node = open && carried.visiting && findNode(open.graph, carried.visiting.nodeId);
  return node?.passes === true || node?.workflow !== undefined ? node : undefined;
}

/** Visits take no model turn here, so that they are bounded by the limit of turns themselves: a graph may lead in a circle. */
export function visitLimitReached(
  { carried }: RunRecord,
  { maxTurnsPerRun }: Pick<EngineLimits, "maxTurnsPerRun">,
): string | undefined {
  if (carried.visit <= maxTurnsPerRun) return undefined;
  return `The run reached its limit of ${maxTurnsPerRun} node visits.`;
}

/** How the run goes on from a node: its only way, and the document after it. */
export interface WayOn {
  readonly next: string;
  readonly update: FrontmatterUpdate;
  readonly document: JsonObject;
}

/** What a node has come to. */
interface Passed {
  readonly artifacts?: readonly string[];
  readonly variables?: JsonObject;
}

/**
 * The node is done, with these artifacts and variables, and the run goes on by its only way. Fault: the guard's, or that of an artifact's name.
 * `now` is an ISO time.
 */
export function wayOnFrom(
  record: RunRecord,
  nodeId: string,
  { artifacts, variables, now }: Passed & { readonly now: string },
): WayOn | { readonly fault: Fault } {
  const next = record.opened.graph.edges.find(({ from }) => from === nodeId)?.to ?? "";
  const update = {
    stepsCompleted: { append: [nodeId] },
    currentNodeId: { set: next },
    ...(artifacts === undefined ? {} : { artifacts: { append: [...artifacts] } }),
    ...(hasAny(variables) ? { variables: { set: variables } } : {}),
  };
  const changed = changedDocument(record, { kind: "patch", update }, now);
  if (!changed.ok) return { fault: changed.error };
  const wrong = listsFault(record, changed.value);
  return wrong === undefined ? { next, update, document: changed.value } : { fault: wrong };
}

/** Plain JSON of another run's document, which is as an update has it. */
function hasAny(
  variables: JsonObject | undefined,
): variables is NonNullable<FrontmatterUpdate["variables"]>["set"] {
  return variables !== undefined && Object.keys(variables).length > 0;
}
