import { type Fault, type Result, fail, ok } from "../../core/errors.js";
import type { ProtectedPaths } from "../../core/tools/name-rules.js";
import { EDIT_TOOL, STATE_TOOL, canonicalToolName, parseToolCall } from "../../core/tools/tool-specs.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import type { PermittedRoot } from "../../store/roots/roots.js";
import { findAgent, selectWorkflow } from "../../store/packages/choose.js";
import type { Store } from "../../store/store.js";
import { openWorkspace } from "../sandbox/workspace.js";
import { type CallEnvironment, NO_PROJECT, type PlacedCall, refused } from "./call-context.js";
import { runFileTool } from "./file-tool.js";
import { recordState } from "./record-state.js";
import { toolPolicyOf } from "./tool-policy.js";
import { withFacts } from "./without-engine.js";

export interface ToolHostOptions {
  readonly store: Store;
  /** Default: those that the store was opened with. */
  readonly protectedPaths?: ProtectedPaths;
  /** Makes `conditionExpr` of edges binding for calls that come without an engine. */
  readonly evaluateConditions?: boolean;
}

/** As little as `NO_PROJECT`: the operator's sentence is `run.open`'s. */
const NOT_PERMITTED: Fault = fail(
  "E_SANDBOX_VIOLATION",
  "The project's directory is not one that this store may open.",
).error;
const UNREAD = fail("E_INTERNAL", "The project's directory cannot be read now.").error;

/** Runs a call: package, policy, refusal, arguments, roots, in this order. Rejects for what is nobody's fault but ours. */
export async function runGraphCall(options: ToolHostOptions, placed: PlacedCall): Promise<CallOutcome> {
  const { store } = options;
  const { request, knowledge, place, lock } = placed;
  const { context } = request;
  const loaded = await store.packages.open(context.packageId);
  if (!loaded.ok) return refused(loaded.error);
  const workflow = selectWorkflow(loaded.value, context.workflowId);
  if (!workflow.ok) return refused(workflow.error);
  const agent = findAgent(loaded.value, context.agentId);
  if (!agent.ok) return refused(agent.error);
  const limits = toolPolicyOf(agent.value);
  const tool = canonicalToolName(request.name);
  if (!limits.fsEnabled && tool !== undefined && tool !== STATE_TOOL) {
    return refused(fail("TOOL_NOT_AVAILABLE", "The file tools are disabled for this agent.").error);
  }
  if (tool === EDIT_TOOL && !limits.mayEdit) {
    return refused(
      fail("TOOL_NOT_AVAILABLE", "fs.edit is not among this agent's tools. Use fs.write.").error,
    );
  }
  if (knowledge.refusal !== undefined) return refused(knowledge.refusal);
  const call = parseToolCall(request.name, request.argumentsJson);
  if (!call.ok) return refused(call.error);
  if (call.value.tool === STATE_TOOL) return recordState(place.files, call.value.arguments, knowledge);
  if (place.root === undefined) return refused(NO_PROJECT);
  const project = projectOf(store, placed, place.root);
  if (!project.ok) return refused(project.error.code === "E_INTERNAL" ? UNREAD : NOT_PERMITTED);
  const workspace = openWorkspace({
    roots: { project: project.value.path, pkg: loaded.value.dir, state: place.files.stateDir },
    projectIdentity: project.value.identity,
    lockDir: store.lockDir,
    keepOut: store.roots.keepOut,
    ...(context.execution === undefined
      ? {}
      : { writer: { runId: context.runId, execution: context.execution } }),
    protectedPaths: options.protectedPaths ?? store.roots.protectedPaths,
  });
  const environment: CallEnvironment = {
    files: place.files,
    workspace,
    workflow: workflow.value,
    limits,
    knowledge: options.evaluateConditions === true ? await withFacts(knowledge, place.files) : knowledge,
    lock,
  };
  return runFileTool(environment, request, call.value);
}

/** An execution is Temporal's; a program without one names its directories itself. */
function projectOf(store: Store, { request, knowledge }: PlacedCall, root: string): Result<PermittedRoot> {
  const { execution, projectRoot } = request.context;
  if (execution === undefined) return store.roots.inspect(root);
  const { project } = knowledge;
  return project === undefined ? store.roots.permit(projectRoot, "write", { isReal: true }) : ok(project);
}
