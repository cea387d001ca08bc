import type { ModelTurnInput } from "../contract/activities.js";
import type { JsonObject } from "../core/json.js";
import { allowedNext, findNode } from "../core/package/graph.js";
import type { Agent } from "../core/package/schemas.js";
import { renderNodeBrief, renderRunDirective } from "../core/prompt/shells.js";
import {
  BASE_RULES,
  type ToolPolicy,
  renderPersona,
  renderToolPolicy,
} from "../core/prompt/system-messages.js";
import type { PlainMessage } from "../store/runs/conversation.js";
import type { LoadedWorkflow } from "../store/packages/package-loader.js";

/** A node's first messages, in the order of contracts §8. Throws when the graph has no such node. */
export function nodeMessages(
  input: ModelTurnInput,
  workflow: LoadedWorkflow,
  agent: Agent,
  policy: ToolPolicy,
  variables: JsonObject,
): readonly PlainMessage[] {
  const node = findNode(workflow.graph, input.nodeId);
  if (node === undefined) throw new Error(`The graph has no node "${input.nodeId}".`);
  const declared = workflow.steps.get(node.id)?.outputs ?? [];
  return [
    { role: "system", content: BASE_RULES },
    { role: "system", content: renderToolPolicy(policy, input.recordsState === true) },
    { role: "system", content: renderPersona(agent) },
    {
      role: "user",
      content: renderRunDirective({
        intent: input.intent,
        workflowRef: input.run.workflowRef,
        graphFile: workflow.graphFile,
        currentNodeId: node.id,
        effectiveAgentId: input.agentId,
        autopilot: input.autopilot,
        variables,
        ...(input.story === undefined ? {} : { story: input.story }),
      }),
    },
    {
      role: "user",
      content: renderNodeBrief({
        nodeId: node.id,
        type: node.type,
        file: node.file,
        outputs: [...new Set([...(node.outputs ?? []), ...declared])],
        allowedNext: allowedNext(
          workflow.graph,
          node.id,
          input.conditions && { variables, ...input.conditions },
        ),
      }),
    },
  ];
}
