import type { Fault } from "../errors.js";
import type { JsonObject } from "../json.js";
import type { WorkflowGraph } from "../package/graph.js";
import { listedNamesFault } from "./listed-names.js";
import { type ConditionFacts, validateWorkflowStateUpdate } from "./transition-guard.js";

/**
 * Why `next` may not take the place of `previous`: what the guard says, then what the lists gain, in the order of contracts §6. Undefined
 * where it may. A workflow asks both by themselves (`engine/state-changes.ts`): histories of earlier versions hold updates that list anything.
 */
export function updateFault(
  previous: JsonObject,
  next: JsonObject,
  graph: WorkflowGraph,
  conditions?: ConditionFacts,
): Fault | undefined {
  const verdict = validateWorkflowStateUpdate(previous, next, graph, conditions);
  return verdict.ok ? listedNamesFault(previous, next) : verdict.error;
}
