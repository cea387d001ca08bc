import { type Failed, fail } from "../errors.js";
import { type JsonObject, textOf } from "../json.js";
import {
  type ConditionData,
  type WorkflowGraph,
  allowedNext,
  conditionsOutOf,
  findNode,
  isSatisfied,
} from "../package/graph.js";
import { cutText, excerpt, listSome } from "../text.js";
import { describeUnmet } from "./refused-condition.js";
import { type Frontmatter, parseFrontmatter } from "./state-frontmatter.js";

/** The guard's verdict on a state update. */
export type GuardVerdict = { readonly ok: true } | Failed;

/** Where a run stands: the document's node, or the graph's entry while that is empty (contracts §6, rule 1). */
export function effectiveNodeId(currentNodeId: string, graph: Pick<WorkflowGraph, "entryNodeId">): string {
  return currentNodeId.trim() || graph.entryNodeId;
}

/** What conditions see besides the variables; giving it turns their evaluation on. */
export interface ConditionFacts {
  readonly gateDecisions: JsonObject;
  readonly routingFlags: JsonObject;
}

/** The facts of a run that carries no graph state. */
export const NO_FACTS: ConditionFacts = { gateDecisions: {}, routingFlags: {} };

/** What conditions see of a graph state, and of none. */
export function conditionFacts(state: ConditionFacts | undefined): ConditionFacts {
  if (state === undefined) return NO_FACTS;
  const { gateDecisions, routingFlags } = state;
  return { gateDecisions, routingFlags };
}

/** One update under judgement. */
interface Move {
  readonly from: string;
  readonly to: string;
  readonly graph: WorkflowGraph;
  readonly data: ConditionData | undefined;
}

/**
 * The transition guard (contracts §6): may `next` replace `previous`? Pure; runs before every save of the
 * state document. Checks in order: schema, transition, monotonicity. `previous` is a document that was
 * accepted before; `next` may be anything. With `conditions`, an edge whose `conditionExpr` does not hold over
 * the next variables and these facts is no legal edge; without, expressions are guidance only.
 *
 * Faults: `E_SCHEMA_VALIDATION` with `details.errors[]`; `E_INVALID_TRANSITION` with `details` =
 * `{ from, to, allowedNext[] }` and, when steps went missing, `removedSteps[]`.
 */
export function validateWorkflowStateUpdate(
  previous: JsonObject,
  next: JsonObject,
  graph: WorkflowGraph,
  conditions?: ConditionFacts,
): GuardVerdict {
  const parsed = parseFrontmatter(next);
  if (!parsed.ok) return parsed;
  const move: Move = {
    from: effectiveNodeId(textOf(previous["currentNodeId"]), graph),
    to: effectiveNodeId(parsed.value.currentNodeId, graph),
    graph,
    data: conditions && { variables: parsed.value.variables, ...conditions },
  };
  return checkTransition(move) ?? checkMonotonicity(move, previous, parsed.value) ?? { ok: true };
}

function checkTransition(move: Move): GuardVerdict | undefined {
  const { from, to, graph, data } = move;
  if (findNode(graph, to) === undefined) return refuse(move, `the graph has no node "${excerpt(to)}".`);
  if (from === to) return undefined;
  const edges = graph.edges.filter((edge) => edge.from === from && edge.to === to);
  const share = conditionsOutOf(graph, from);
  if (edges.some((edge) => isSatisfied(edge, data, share))) return undefined;
  const [edge] = edges;
  if (edge?.conditionExpr === undefined || data === undefined)
    return refuse(move, "the graph has no such edge.");
  return refuse(move, `the edge's condition does not hold${describeUnmet(edge.conditionExpr, data)}`);
}

function checkMonotonicity(move: Move, previous: JsonObject, next: Frontmatter): GuardVerdict | undefined {
  const before = Array.isArray(previous["stepsCompleted"]) ? previous["stepsCompleted"].map(String) : [];
  const kept = new Set(next.stepsCompleted);
  const removedSteps = [...new Set(before.filter((step) => !kept.has(step)))];
  if (removedSteps.length === 0) return undefined;
  return refuse(move, `completed steps cannot be taken back (${listSome(removedSteps)}).`, removedSteps);
}

/** Ids longer than this are cut, and of very many removed steps the first are named: a refusal stays small. */
const MAX_ID_CHARS = 500;
const MAX_REMOVED_STEPS = 100;

function refuse(move: Move, reason: string, removedSteps?: readonly string[]): GuardVerdict {
  const { graph, data } = move;
  const allowed = allowedNext(graph, move.from, data);
  const [from, to] = [excerpt(move.from), excerpt(move.to)];
  const open = allowed.filter((edge) => edge.satisfied !== false);
  const remedy =
    allowed.length === 0
      ? `No edge leaves ${from}.`
      : open.length === 0
        ? `No edge out of ${from} has a condition that holds.`
        : `From ${from} you may go to: ${listSome(open.map((edge) => edge.to))}.`;
  return fail("E_INVALID_TRANSITION", `${from} → ${to}: ${reason} ${remedy}`, {
    from: shorten(move.from),
    to: shorten(move.to),
    allowedNext: allowed.map((edge) => ({ ...edge })),
    ...(removedSteps === undefined
      ? {}
      : { removedSteps: removedSteps.slice(0, MAX_REMOVED_STEPS).map(shorten) }),
  });
}

function shorten(id: string): string {
  return cutText(id, MAX_ID_CHARS);
}
