import { GateTypeSchema } from "../core/graph-state/schemas.js";
import { type JsonObject, type JsonValue, objectOf } from "../core/json.js";
import { readsPath, variableOf } from "../core/package/condition-uses.js";
import type { ConditionFacts } from "../core/state/transition-guard.js";
import { STATE_TOOL } from "../core/tools/tool-specs.js";
import { variablesFor } from "./conditions.js";
import { type Graph, towardsEnd } from "./edges.js";
import type { AllowedEdge } from "./shells.js";
import type { Situation } from "./situation.js";
import type { StepDeclaration } from "./step-declaration.js";
import { toMap } from "./untrusted.js";

/** An edge that may be tried, with the variables that its condition needs. */
export interface Way extends AllowedEdge {
  readonly needs: JsonObject;
}

/** What has been read at a node, as far as conditions depend on it. */
interface Known {
  readonly step: StepDeclaration;
  readonly graph: Graph | undefined;
  /** As the save would leave them. */
  readonly variables: JsonObject;
}

/** Whether the runtime evaluates conditions: the brief says of each edge whether it is open. */
export function areConditionsBinding({ shells }: Situation): boolean {
  return shells.brief.allowedNext?.some((edge) => edge.satisfied !== undefined) === true;
}

/**
 * The variables that an edge out of this node needs; undefined where its condition depends on none, or none would
 * open it.
 */
export function needsOf(situation: Situation, known: Known, to: string): JsonObject | undefined {
  if (!areConditionsBinding(situation)) return undefined;
  const from = situation.shells.brief.nodeId;
  const edges = known.graph?.edges.filter((edge) => edge.from === from && edge.to === to) ?? [];
  const data = { variables: known.variables, ...factsOf(situation) };
  for (const { conditionExpr } of edges) {
    if (conditionExpr === undefined) return {};
    if (!readsPath(conditionExpr, (path) => variableOf(path) !== undefined)) continue;
    const needs = variablesFor(conditionExpr, data, preferredBy(known.step));
    if (needs !== undefined) return needs;
  }
  return undefined;
}

/** The way that begins the shortest one to an end, over edges that could open. */
export function wayToEnd(
  situation: Situation,
  known: Known & { readonly graph: Graph },
  ways: readonly Way[],
): Way | undefined {
  if (!areConditionsBinding(situation)) return towardsEnd(ways, known.graph);
  const facts = factsOf(situation);
  const gates = situation.tools.has(STATE_TOOL) ? passedGates() : {};
  const data = {
    variables: known.variables,
    ...facts,
    gateDecisions: { ...facts.gateDecisions, ...gates },
  };
  return towardsEnd(
    ways,
    known.graph,
    ({ conditionExpr }) =>
      conditionExpr === undefined ||
      readsPath(conditionExpr, (path) => path.startsWith("routingFlags")) ||
      variablesFor(conditionExpr, data) !== undefined,
  );
}

/** Every gate of a story, passed. */
export function passedGates(): JsonObject {
  return Object.fromEntries(GateTypeSchema.options.map((gate) => [gate, "PASS"]));
}

/** What the story was told at this node, or what the directive says of it. */
function factsOf({ shells, visit }: Situation): ConditionFacts {
  const told = visit.exchanges.findLast(({ tool, outcome }) => tool === STATE_TOOL && outcome.ok);
  const value: ReadonlyMap<string, unknown> =
    told?.outcome.ok === true ? told.outcome.value : toMap(undefined);
  const partOf = (key: string): JsonObject => objectOf(value.get(key) as JsonValue | undefined); // a part of parsed JSON
  return {
    gateDecisions: told === undefined ? shells.directive.gateDecisions : partOf("gateDecisions"),
    routingFlags: partOf("routingFlags"),
  };
}

function preferredBy(step: StepDeclaration): ReadonlyMap<string, readonly JsonValue[]> {
  return new Map(step.variables.map(({ name, suggested }) => [name, suggested]));
}
