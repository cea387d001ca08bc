import { type Fault, fail } from "../errors.js";
import type { JsonObject } from "../json.js";
import { type WorkflowGraph, allowedNext, findNode } from "../package/graph.js";
import { type Frontmatter, parseFrontmatter } from "./frontmatter.js";

/** The guard's verdict on a state update. */
export type GuardVerdict = { readonly ok: true } | { readonly ok: false; readonly error: Fault };

/** Where a run stands: the document's node, or the graph's entry while that is empty (contracts §6, rule 1). */
export function effectiveNodeId(currentNodeId: string, graph: Pick<WorkflowGraph, "entryNodeId">): string {
  return currentNodeId.trim() || graph.entryNodeId;
}

/**
 * The transition guard (contracts §6): may `next` replace `previous`? Pure; runs before every save of the
 * state document. Checks in order: schema, transition, monotonicity. `previous` is a document that was
 * accepted before; `next` may be anything.
 *
 * Faults: `E_SCHEMA_VALIDATION` with `details.errors[]`; `E_INVALID_TRANSITION` with `details` =
 * `{ from, to, allowedNext[] }` and, when steps went missing, `removedSteps[]`.
 */
export function validateWorkflowStateUpdate(
  previous: JsonObject,
  next: JsonObject,
  graph: WorkflowGraph,
): GuardVerdict {
  const parsed = parseFrontmatter(next);
  if (!parsed.ok) return parsed;
  const from = effectiveNodeId(textOf(previous["currentNodeId"]), graph);
  const to = effectiveNodeId(parsed.value.currentNodeId, graph);
  return (
    checkTransition(from, to, graph) ??
    checkMonotonicity(previous, parsed.value, from, to, graph) ?? { ok: true }
  );
}

function checkTransition(from: string, to: string, graph: WorkflowGraph): GuardVerdict | undefined {
  if (findNode(graph, to) === undefined) {
    return refuse(`${from} → ${to}: the graph has no node "${to}".`, from, to, graph);
  }
  if (from === to || graph.edges.some((edge) => edge.from === from && edge.to === to)) return undefined;
  return refuse(`${from} → ${to}: the graph has no such edge.`, from, to, graph);
}

function checkMonotonicity(
  previous: JsonObject,
  next: Frontmatter,
  from: string,
  to: string,
  graph: WorkflowGraph,
): GuardVerdict | undefined {
  const before = Array.isArray(previous["stepsCompleted"]) ? previous["stepsCompleted"].map(String) : [];
  const kept = new Set(next.stepsCompleted);
  const removedSteps = [...new Set(before.filter((step) => !kept.has(step)))];
  if (removedSteps.length === 0) return undefined;
  return refuse(
    `${from} → ${to}: completed steps cannot be taken back (${removedSteps.join(", ")}).`,
    from,
    to,
    graph,
    removedSteps,
  );
}

function refuse(
  reason: string,
  from: string,
  to: string,
  graph: WorkflowGraph,
  removedSteps?: readonly string[],
): GuardVerdict {
  const allowed = allowedNext(graph, from);
  const remedy =
    allowed.length === 0
      ? `No edge leaves ${from}.`
      : `From ${from} you may go to: ${allowed.map((edge) => edge.to).join(", ")}.`;
  return fail("E_INVALID_TRANSITION", `${reason} ${remedy}`, {
    from,
    to,
    allowedNext: allowed.map((edge) => ({ ...edge })),
    ...(removedSteps === undefined ? {} : { removedSteps }),
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
