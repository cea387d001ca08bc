import type { JsonObject } from "../core/json.js";
import { STATE_TOOL } from "../core/tools/tool-specs.js";
import {
  type Graph,
  ROUNDS_BEFORE_HEADING_FOR_END,
  edgesOfRefusal,
  leastTaken,
  towardsEnd,
  withHints,
} from "./edges.js";
import { type Memory, placeOf, startAt } from "./memory.js";
import { variableValues } from "./placeholder.js";
import type { AllowedEdge } from "./shells.js";
import {
  type Decision,
  type Situation,
  ask,
  call,
  codeOf,
  correctionsUsedUp,
  describeRefusal,
  isOpenFailure,
  say,
} from "./situation.js";
import type { DocumentState } from "./state-document.js";
import { type StepDeclaration, oneLine } from "./step-declaration.js";
import { type Exchange, type Visit, isJump, lastCall, patchTarget } from "./visit.js";
import { type Way, needsOf, passedGates, wayToEnd } from "./ways.js";

/** What the node does last: move along an edge, or complete the run, and why. */
type Ending =
  | { readonly kind: "move"; readonly edge: Way }
  | { readonly kind: "complete"; readonly why: string };

/** What has been read at this node when it is time to save. */
export interface Material {
  readonly step: StepDeclaration;
  readonly state: DocumentState;
  readonly graph: Graph | undefined;
  /** What is to be said about outputs that were not written; empty when all were. */
  readonly notes: string;
}

/** Finishes the node: one patch with the step, its variables, the decision and the next node. */
export function saveState(situation: Situation, material: Material): Decision {
  const { shells, visit } = situation;
  const { step } = material;
  const last = lastPatch(visit);
  if (last?.outcome.ok === true) {
    return say(situation.memory, `Node ${shells.brief.nodeId} is finished and its state is saved.`);
  }
  const hurdle = correctPatch(situation, last);
  if (hurdle !== undefined) return hurdle;
  if (shells.brief.allowedNext === undefined) {
    return ask(
      situation,
      "NODE_BRIEF does not say which nodes are allowed next.",
      "I look at the brief again",
    );
  }
  const gates = recordGates(situation);
  if (gates !== undefined) return gates;
  const refused = refusedTargets(visit);
  const named = namedByRefusal(last) ?? shells.brief.allowedNext;
  const tried = withHints(named, step.transitions).filter((edge) => !refused.has(edge.to));
  const edges = waysAmong(tried, legalEdges(tried, last, situation, step), situation, material);
  const hadEdges = named.length > 0 || shells.brief.allowedNext.length > 0;
  if (edges.length === 0 && hadEdges && shells.brief.nodeType !== "end") {
    const names = shells.brief.allowedNext.map((edge) => edge.to).join(", ");
    return ask(situation, `no edge out of it is open now (${names}).`, "I try them again");
  }
  return choose(situation, { ...material, edges });
}

/** Where an edge waits for a condition, the gates of the story may be what it waits for: all of them pass, once. */
function recordGates(situation: Situation): Decision | undefined {
  const { shells, visit, tools, memory } = situation;
  const waits = shells.brief.allowedNext?.some((edge) => edge.satisfied === false) === true;
  if (!waits || !tools.has(STATE_TOOL) || hasRecorded(visit)) return undefined;
  return say(
    memory,
    `An edge out of ${shells.brief.nodeId} waits for a condition. I record every gate as PASS.`,
    call(situation, STATE_TOOL, { gateDecisions: passedGates() }),
  );
}

function hasRecorded(visit: Visit): boolean {
  return visit.exchanges.some(({ tool }) => tool === STATE_TOOL);
}

interface Choice extends Material {
  readonly edges: readonly Way[];
}

/** Of the edges that may be tried: those that are legal, and those that variables open, with these. */
function waysAmong(
  edges: readonly AllowedEdge[],
  legal: readonly AllowedEdge[],
  situation: Situation,
  material: Material,
): readonly Way[] {
  const known = { ...material, variables: variablesAfter(situation, material) };
  return edges.flatMap((edge) => {
    const needs = mayStillSetVariables(situation.visit) ? needsOf(situation, known, edge.to) : undefined;
    if (needs === undefined && !legal.includes(edge)) return [];
    return [{ ...edge, needs: needs ?? {} }];
  });
}

/** The variables as the save would leave them, but for what an edge needs. */
function variablesAfter(situation: Situation, material: Material): JsonObject {
  return { ...material.state.variables, ...declaredValues(situation, material) };
}

function declaredValues({ shells }: Situation, { state, step }: Material): JsonObject {
  const { nodeId } = shells.brief;
  const earlier = state.decisions.filter((entry) => entry.from === nodeId).length;
  return variableValues(step.variables, nodeId, earlier);
}

/** Chooses the ending; when the run goes round in circles, the graph is read first. */
function choose(situation: Situation, choice: Choice): Decision {
  const { brief, directive } = situation.shells;
  const { edges, graph, state } = choice;
  if (brief.nodeType === "end") return save(situation, choice, { kind: "complete", why: "This is an end." });
  const turned = turnOrder(situation, choice);
  const best = leastTaken(edges, brief.nodeId, state, turned.start);
  const next = { ...situation, memory: turned.memory };
  if (best === undefined) {
    return save(next, choice, { kind: "complete", why: "Nothing comes after this node." });
  }
  if (best.taken < ROUNDS_BEFORE_HEADING_FOR_END)
    return save(next, choice, { kind: "move", edge: best.edge });
  if (
    directive.graphPath !== undefined &&
    lastCall(situation.visit, "fs.read", directive.graphPath) === undefined
  ) {
    return say(
      next.memory,
      `Every way on from ${brief.nodeId} was taken ${best.taken} times. I read the graph to find an end.`,
      call(situation, "fs.read", { path: directive.graphPath }),
    );
  }
  const roundsLeft = mayGoRound(choice, best.taken) || situation.visit.answered;
  if (graph === undefined && roundsLeft) return save(next, choice, { kind: "move", edge: best.edge });
  const known = graph && { ...choice, graph, variables: variablesAfter(situation, choice) };
  const edge = known && wayToEnd(situation, known, edges);
  if (edge !== undefined && roundsLeft) return save(next, choice, { kind: "move", edge });
  if (graph === undefined || towardsEnd(edges, graph) !== undefined) {
    if (situation.visit.answered) return save(next, choice, { kind: "move", edge: best.edge });
    return ask(
      next,
      `every way on was taken ${best.taken} times, and no variables open a way to an end: look at the conditions of the graph.`,
      "I go round once more",
    );
  }
  return save(next, choice, {
    kind: "complete",
    why: `Every way on was taken ${best.taken} times and no end can be reached from here, so I close the run.`,
  });
}

/** Heading for an end takes an edge so often at most for each edge of the graph: more than that is no way to one. */
function mayGoRound({ graph, edges }: Choice, taken: number): boolean {
  return taken <= ROUNDS_BEFORE_HEADING_FOR_END * ((graph?.edges ?? edges).length + 1);
}

/** Which edge comes first among equals. Where the decision log cannot be counted, each visit turns it further. */
function turnOrder(situation: Situation, choice: Choice): { start: number; memory: Memory } {
  const { memory, shells } = situation;
  if (choice.edges.length < 2 || (choice.state.whole && !memory.branches)) return { start: 0, memory };
  const place = placeOf(shells.directive.workflow, shells.brief.nodeId);
  return startAt(memory, place, choice.state.whole ? choice.state.runId : undefined);
}

function save(situation: Situation, choice: Choice, ending: Ending): Decision {
  const { brief, directive } = situation.shells;
  const needed = ending.kind === "move" ? ending.edge.needs : {};
  const declared = { ...declaredValues(situation, choice), ...needed };
  const closes = ending.kind === "complete" && brief.nodeType !== "end";
  const sets = mayStillSetVariables(situation.visit)
    ? { ...declared, ...(closes ? { workflowStatus: "complete" } : {}) }
    : closes
      ? { workflowStatus: "complete" }
      : {};
  const update = {
    stepsCompleted: { append: [brief.nodeId] },
    ...(Object.keys(sets).length === 0 ? {} : { variables: { set: sets } }),
    ...(ending.kind === "move" ? movement(brief.nodeId, ending.edge) : {}),
  };
  return say(
    situation.memory,
    [refusalStory(situation.visit), choice.notes, closing(ending)].filter((part) => part !== "").join(" "),
    call(situation, "fs.apply_patch", patchOf(directive.statePath, update)),
  );
}

function movement(from: string, edge: AllowedEdge): JsonObject {
  return {
    decisionLog: { append: [{ from, to: edge.to, label: edge.label, reason: "rehearsal" }] },
    currentNodeId: { set: edge.to },
  };
}

function closing(ending: Ending): string {
  if (ending.kind === "complete") return `${ending.why} I finish the node, and with it the run.`;
  const needed = Object.keys(ending.edge.needs).map((name) => oneLine(name, 100));
  const sets = needed.length === 0 ? "" : ` Its condition needs ${needed.join(", ")}: I set that.`;
  return `I finish the node and follow "${oneLine(ending.edge.label, 100)}" to ${ending.edge.to}.${sets}`;
}

/** What has been refused at this node, told before what is done instead. */
function refusalStory(visit: Visit): string {
  const jump = visit.exchanges.findLast(isJump);
  const last = lastPatch(visit);
  if (isOpenFailure(visit, last)) return `${describeRefusal(last)} I correct that.`;
  if (jump === undefined) return "";
  const allowed = (namedByRefusal(jump) ?? []).map((edge) => edge.to).join(", ");
  return `The jump was refused, as it had to be (${codeOf(jump) ?? "?"}); allowed: ${allowed || "nothing"}.`;
}

/** A refused patch is read again, made smaller or chosen anew; what cannot be corrected goes to the user. */
function correctPatch(situation: Situation, last: Exchange | undefined): Decision | undefined {
  const { shells, visit } = situation;
  if (!isOpenFailure(visit, last)) return undefined;
  const code = codeOf(last);
  if (correctionsUsedUp(visit) || !CORRECTABLE.has(code ?? "")) {
    return ask(situation, describeRefusal(last), "I try again");
  }
  const { statePath } = shells.directive;
  const read = lastCall(visit, "fs.read", statePath);
  if (code !== "E_PRECONDITION_FAILED" || (read !== undefined && read.index > last.index)) return undefined;
  return say(
    situation.memory,
    `${describeRefusal(last)} I read the state document again.`,
    call(situation, "fs.read", { path: statePath }),
  );
}

const CORRECTABLE: ReadonlySet<string> = new Set([
  "E_INVALID_TRANSITION",
  "E_PRECONDITION_FAILED",
  "E_SCHEMA_VALIDATION",
  "E_WRITE_LIMIT",
  "E_INTERNAL",
]);

/** Variables that made a patch fail are left out of the next. */
function mayStillSetVariables(visit: Visit): boolean {
  const refused = ["E_SCHEMA_VALIDATION", "E_WRITE_LIMIT"];
  return !visit.exchanges.some(
    (exchange) =>
      isOpenFailure(visit, exchange) && isPatch(exchange) && refused.includes(codeOf(exchange) ?? ""),
  );
}

/**
 * Edges that may be tried. An edge whose condition does not hold is not; when none holds before this node has
 * set its variables, or after it has recorded its gates, that may have changed, and the guard is to say.
 */
function legalEdges(
  named: readonly AllowedEdge[],
  last: Exchange | undefined,
  { visit }: Situation,
  step: StepDeclaration,
): readonly AllowedEdge[] {
  if (last === undefined && hasRecorded(visit)) return named;
  const open = named.filter((edge) => edge.satisfied !== false);
  return open.length === 0 && last === undefined && step.variables.length > 0 ? named : open;
}

function namedByRefusal(refused: Exchange | undefined): AllowedEdge[] | undefined {
  if (refused === undefined || refused.outcome.ok) return undefined;
  return edgesOfRefusal(refused.outcome.details.get("allowedNext"));
}

/** Where the guard has refused to let this node go, since the user was last asked. */
function refusedTargets(visit: Visit): ReadonlySet<string> {
  const refused = visit.exchanges.filter(
    (exchange) => isOpenFailure(visit, exchange) && codeOf(exchange) === "E_INVALID_TRANSITION",
  );
  return new Set(refused.flatMap((exchange) => patchTarget(exchange.arguments) ?? []));
}

function lastPatch(visit: Visit): Exchange | undefined {
  return visit.exchanges.findLast(isPatch);
}

function isPatch(exchange: Exchange): boolean {
  return exchange.tool === "fs.apply_patch" && !isJump(exchange);
}

/** A call's arguments that update the state document. */
export function patchOf(path: string, update: JsonObject): JsonObject {
  return { path, patch: { operation: "updateFrontmatter", update } };
}
