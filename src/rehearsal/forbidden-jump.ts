import type { Graph } from "./edges.js";
import { type Material, patchOf } from "./save-state.js";
import type { AllowedEdge } from "./shells.js";
import { type Decision, type Situation, ask, call, say } from "./situation.js";
import { isJump } from "./visit.js";

/**
 * The one forbidden jump of a server's life: a patch that does nothing but move to a node that is not next, so
 * that a viewer sees the guard refuse it. It is claimed by a moment of a run; a repeated request jumps again,
 * a later visit does not.
 */
export function tryForbiddenJump(situation: Situation, material: Material): Decision | undefined {
  const { graph, state } = material;
  const { brief, directive } = situation.shells;
  const { jump } = situation.memory;
  const jumped = situation.visit.exchanges.findLast(isJump);
  if (jumped?.outcome.ok === true) {
    return ask(
      situation,
      "the forbidden jump that I tried on purpose was accepted. The guard should have refused it: this is a defect.",
      "I go on from here",
    );
  }
  // A resumed node may have seen its jump in a conversation that is gone.
  if (jump.kind === "off" || jumped !== undefined || directive.intent === "resume") return undefined;
  if (graph === undefined) return undefined;
  // This process may have taken over from one that jumped at the first node that allowed it.
  const isTried = state.decisions.some(({ from }) => forbiddenTarget(graph, from, []) !== undefined);
  if (jump.kind === "due" && isTried) return undefined;
  const moment = JSON.stringify([state.runId ?? "", brief.nodeId, state.decisions.length]);
  if (jump.kind === "claimed" && jump.by !== moment) return undefined;
  const target = forbiddenTarget(graph, brief.nodeId, brief.allowedNext ?? []);
  if (target === undefined) return undefined;
  return say(
    { ...situation.memory, jump: { kind: "claimed", by: moment } },
    `On purpose, once: I try to jump from ${brief.nodeId} to ${target}, which the graph does not allow. The guard has to refuse it.`,
    call(situation, "fs.apply_patch", patchOf(directive.statePath, { currentNodeId: { set: target } })),
  );
}

/** A node that is not next, an end if there is one: jumping there must be refused. */
function forbiddenTarget(graph: Graph, nodeId: string, allowed: readonly AllowedEdge[]): string | undefined {
  const next = new Set([nodeId, ...allowed.map((edge) => edge.to), ...(graph.successors.get(nodeId) ?? [])]);
  const others = graph.nodes.filter((node) => !next.has(node.id));
  return (others.find((node) => node.type === "end") ?? others[0])?.id;
}
