import { ApplicationFailure, type Context } from "@temporalio/activity";
import type { ModelTurnInput, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import type { ErrorCode } from "../core/errors.js";
import type { Agent } from "../core/package/schemas.js";
import type { RunRef } from "../core/run/run-ref.js";
import type { WatchCall } from "../core/tools/watched-call.js";
import { findAgent } from "../store/packages/choose.js";
import type { Store } from "../store/store.js";
import { runExternalCall } from "../tools/external/external-call.js";
import { type ExternalTools, NO_OFFER, type Offer } from "../tools/external/external-tools.js";
import { NotReached, type ToolPlace } from "../tools/external/tool-source.js";
import { toolPolicyOf } from "../tools/graph/tool-policy.js";
import { unwrap } from "./failures.js";
import { openFiles, permittedProject } from "./run-scope.js";
import { toOutcome, watchedCall } from "./run-tool.js";

/** The external tools that a turn's agent has now. A rehearsal has none: its model is a script. */
export async function offerOf(
  store: Store,
  external: ExternalTools | undefined,
  input: ModelTurnInput,
): Promise<Offer> {
  if (external === undefined || input.run.rehearsal !== undefined) return NO_OFFER;
  const { place } = await placeOf(store, input.run, input.agentId);
  try {
    return await external.offer(place);
  } catch (error) {
    if (!(error instanceof NotReached)) throw error;
    throw ApplicationFailure.retryable(error.message, "TOOL_NOT_AVAILABLE" satisfies ErrorCode);
  }
}

/** Calls an external tool, once as its effect says, or returns what is recorded of the call. */
export async function callExternalTool(
  deps: { readonly store: Store; readonly external?: ExternalTools; readonly watchCall?: WatchCall },
  input: ToolCallInput,
  context: Context,
): Promise<ToolCallOutcome> {
  const { store, external } = deps;
  const { run, nodeId, agentId } = input;
  if (external === undefined) {
    const message =
      "This worker has no external tools. Start one with the settings that the run was begun with.";
    throw ApplicationFailure.retryable(message, "TOOL_NOT_AVAILABLE" satisfies ErrorCode);
  }
  const files = await openFiles(store, run);
  const call = await files.conversation(input.conversation).findCall(input.callId);
  if (call?.external === undefined)
    throw new Error("The conversation holds no such call of an external tool.");
  const { place, agent } = await placeOf(store, run, agentId);
  const named = { ...call, external: call.external };
  const make = async () =>
    toOutcome(
      await runExternalCall(external, files, {
        call: named,
        place,
        scope: { runId: run.runId, nodeId, signal: context.cancellationSignal },
        maxResultBytes: toolPolicyOf(agent).maxReadBytes,
      }),
    );
  return deps.watchCall?.(watchedCall(named.external.name, input), make) ?? make();
}

/** Whose tools they are: what the package allows its agent; what the operator allows is the sources' to say. */
async function placeOf(
  store: Store,
  run: RunRef,
  agentId: string,
): Promise<{ readonly place: ToolPlace; readonly agent: Agent }> {
  const loaded = unwrap(await store.packages.open(run.packageId));
  const agent = unwrap(findAgent(loaded, agentId));
  const { enabled = false, allowedServers = [] } = agent.tools?.mcp ?? {};
  const { path: projectRoot } = await permittedProject(store, run);
  return { place: { agentId, allowedServers: enabled ? allowedServers : [], projectRoot }, agent };
}
