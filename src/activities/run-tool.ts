import type { ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import { bundleToolName } from "../core/bundle/bundle-tools.js";
import { defined } from "../core/defined.js";
import { isUnmetPrecondition } from "../core/graph-state/walk.js";
import type { JsonValue } from "../core/json.js";
import { MAX_ARTIFACT_PATH_CHARS } from "../core/package/artifact-types.js";
import { cutText } from "../core/text.js";
import type { RecordedModelCall } from "../core/tools/external-tool.js";
import type { ModelCall } from "../core/tools/model-call.js";
import { canonicalToolName } from "../core/tools/tool-specs.js";
import type { WatchCall, WatchedCall } from "../core/tools/watched-call.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { Store } from "../store/store.js";
import type { BundleHost } from "../tools/bundle/bundle-host.js";
import type { ToolHost } from "../tools/graph/tool-host.js";
import type { ExecutedCall } from "../tools/recorded-call.js";
import { unwrap } from "./failures.js";
import { executionOf, openFiles, permittedProject } from "./run-scope.js";

/** What calls of the engine's own tools work with. */
interface RunToolDeps {
  readonly store: Store;
  readonly toolHost: ToolHost;
  readonly bundles: BundleHost;
  readonly watchCall?: WatchCall;
}

/** Runs one recorded tool call, or records why it does not run. Its contents stay on disk. */
export async function runTool(deps: RunToolDeps, input: ToolCallInput): Promise<ToolCallOutcome> {
  const files = await openFiles(deps.store, input.run);
  const call = await recordedCall(files, input);
  const isOfBundle = input.run.kind === "bundle";
  const make = () =>
    isOfBundle ? runBundleTool(deps.bundles, call, input) : runGraphTool(deps, call, input);
  const tool = isOfBundle ? bundleToolName(call.name) : canonicalToolName(call.name);
  if (tool === undefined || input.refusal !== undefined || deps.watchCall === undefined) return make();
  return deps.watchCall(watchedCall(tool, input), make);
}

export function watchedCall(tool: string, { callId, run, nodeId, agentId }: ToolCallInput): WatchedCall {
  return { tool, callId, runId: run.runId, nodeId, agentId };
}

async function runGraphTool(
  deps: RunToolDeps,
  call: RecordedModelCall,
  input: ToolCallInput,
): Promise<ToolCallOutcome> {
  const { run } = input;
  const project = await permittedProject(deps.store, run);
  const executed = await deps.toolHost.executeForEngine(
    {
      toolCallId: call.id,
      name: call.external?.name ?? call.name,
      argumentsJson: call.argumentsJson,
      context: {
        projectRoot: project.path,
        packageId: run.packageId,
        workflowId: run.workflowRef,
        runId: run.runId,
        agentId: input.agentId,
        execution: executionOf(run),
      },
      // No signal: what a cancellation of the attempt made of the call would be recorded as the call's result.
    },
    {
      project,
      nodeId: input.nodeId,
      stateSha256: input.stateSha256,
      now: input.now,
      ...defined({ conditions: input.conditions, graph: input.graph, refusal: input.refusal }),
    },
  );
  return toOutcome(executed);
}

async function runBundleTool(
  bundles: BundleHost,
  call: ModelCall,
  { run, agentId, nodeId, now, refusal }: ToolCallInput,
): Promise<ToolCallOutcome> {
  unwrap(await bundles.checkRoots(run.runId));
  const { result, code, audit } = await bundles.executeForEngine(
    { toolCallId: call.id, context: { runId: run.runId, agentId, execution: executionOf(run) }, ...call },
    { nodeId, now, ...defined({ refusal }) },
  );
  const { path } = result;
  const named = isText(path) ? { path: path.slice(0, MAX_PATH_CHARS).toWellFormed() } : {};
  if (result.success) return { ok: true, ...named, audit };
  const message = cutText(result.error, MAX_MESSAGE_CHARS);
  return { ok: false, code: code ?? "E_INTERNAL", message, ...named, audit };
}

async function recordedCall(files: RunFiles, input: ToolCallInput): Promise<RecordedModelCall> {
  const call = await files.conversation(input.conversation).findCall(input.callId);
  if (call === undefined) throw new Error(`The conversation ${input.conversation} holds no such call.`);
  return call;
}

const MAX_MESSAGE_CHARS = 200;
/** Enough to recognise any artifact that a step may declare. */
const MAX_PATH_CHARS = "@project/".length + MAX_ARTIFACT_PATH_CHARS;

/** What the history keeps of a call: codes, sizes and hashes, no contents. */
export function toOutcome({ result, state, stateConflict, audit }: ExecutedCall): ToolCallOutcome {
  const changes = {
    ...defined({ state }),
    ...(stateConflict === true ? { stateConflict } : {}),
    audit,
  };
  if (!result.ok) {
    const { code, message, details } = result.error;
    const unmet = isUnmetPrecondition(code, details) ? { unmet: true } : {};
    return { ok: false, code, message: cutText(message, MAX_MESSAGE_CHARS), ...unmet, ...changes };
  }
  const hash = result["sha256After"] ?? result["sha256"];
  const bytes = result["bytesWritten"] ?? result["bytes"];
  return {
    ok: true,
    ...(isText(result["path"]) ? { path: result["path"].slice(0, MAX_PATH_CHARS).toWellFormed() } : {}),
    ...(typeof bytes === "number" ? { bytes } : {}),
    ...(isText(hash) ? { sha256: hash } : {}),
    ...changes,
  };
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string";
}
