import type { NodePassInput, ToolCallOutcome } from "../contract/activities.js";
import { defined } from "../core/defined.js";
import { selectWorkflow } from "../store/packages/choose.js";
import type { Store } from "../store/store.js";
import { passNode } from "../tools/graph/pass-node.js";
import { unwrap } from "./failures.js";
import { openFiles } from "./run-scope.js";
import { toOutcome } from "./run-tool.js";

/** Goes through a node that needs no model, once. */
export async function passThrough(store: Store, input: NodePassInput): Promise<ToolCallOutcome> {
  const { run, id, update, nodeId, visit, next, stateSha256, now, conditions, below } = input;
  const files = await openFiles(store, run);
  const loaded = unwrap(await store.packages.open(run.packageId));
  const workflow = unwrap(selectWorkflow(loaded, run.workflowRef));
  const knowledge = { nodeId, stateSha256, now, ...defined({ conditions }) };
  const { runId: childRunId, workflow: ran, usage } = below ?? {};
  const event = { nodeId, visit, next, ...defined({ childRunId, workflow: ran }), ...defined({ ...usage }) };
  const pass = { id, update, event };
  return toOutcome(await passNode(files, workflow, pass, knowledge));
}
