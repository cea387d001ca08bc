import { conditionFacts, effectiveNodeId } from "../../core/state/transition-guard.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import { selectWorkflow } from "../../store/packages/choose.js";
import type { Store } from "../../store/store.js";
import type { EngineKnowledge, ToolCallContext, ToolCallRequest } from "./call-context.js";

/*
 * What a program that calls tools without a run engine leaves to be found out: the run's files say it.
 */

/** Without an engine, conditions see the graph state on disk. */
export async function withFacts(knowledge: EngineKnowledge, files: RunFiles): Promise<EngineKnowledge> {
  if (knowledge.conditions !== undefined) return knowledge;
  const held = await files.graphState.current();
  return { ...knowledge, conditions: conditionFacts(held?.state) };
}

/** Where the state document stands; empty where that cannot be told. */
export async function currentNode(store: Store, files: RunFiles, context: ToolCallContext): Promise<string> {
  const document = await files.state.read();
  const loaded = await store.packages.open(context.packageId);
  const workflow = loaded.ok ? selectWorkflow(loaded.value, context.workflowId) : loaded;
  if (!document.ok || !workflow.ok) return "";
  return effectiveNodeId(document.value.frontmatter.currentNodeId, workflow.value.graph);
}

/** What a model sent may be no text where the caller has no types: then it is an empty one, which is refused later. */
export function withTexts(request: ToolCallRequest): ToolCallRequest {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const { toolCallId, name, argumentsJson } = request;
  return { ...request, toolCallId: text(toolCallId), name: text(name), argumentsJson: text(argumentsJson) };
}
