import { fail, type Fault, type Result, ok } from "../../core/errors.js";
import type { FunctionTool } from "../../core/tools/tool-arguments.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import {
  EDIT_FUNCTION_TOOL,
  EDIT_TOOL,
  FILE_FUNCTION_TOOLS,
  STATE_FUNCTION_TOOL,
  STATE_TOOL,
  canonicalToolName,
} from "../../core/tools/tool-specs.js";
import { LockLost } from "../../store/disk/fenced-lock.js";
import { projectAt, resolveProject } from "../../store/runs/project-id.js";
import { findAgent } from "../../store/packages/choose.js";
import type { Store } from "../../store/store.js";
import {
  type EngineKnowledge,
  NO_PROJECT,
  type Place,
  type ToolCallContext,
  type ToolCallRequest,
  refused,
} from "./call-context.js";
import { callFault } from "../sandbox/faults.js";
import { type CallToRecord, type ExecutedCall, runRecorded } from "../recorded-call.js";
import { type ToolHostOptions, runGraphCall } from "./graph-call.js";
import { toolPolicyOf } from "./tool-policy.js";
import { currentNode, withTexts } from "./without-engine.js";

export type { ToolCallContext, ToolCallRequest, ToolHostOptions };

/** Runs tool calls on the three mounts of a run: policy, sandbox, guard, audit, each call once. */
export interface ToolHost {
  /** The OpenAI function tools an agent may use. Throws when package or agent do not exist. */
  getVisibleTools(agent: {
    readonly packageId: string;
    readonly agentId: string;
    /** The run carries a story: `state.record` is among the tools. */
    readonly recordsState?: boolean;
  }): Promise<readonly FunctionTool[]>;
  /** Runs one call. Never rejects for what a model, a package or a project can cause: that is a result. */
  executeToolCall(request: ToolCallRequest): Promise<ToolResult>;
  /** As `executeToolCall`, for the run engine: with what it knows, and what it has to know afterwards. */
  executeForEngine(request: ToolCallRequest, knowledge: EngineKnowledge): Promise<ExecutedCall>;
}

export function createToolHost(options: ToolHostOptions): ToolHost {
  const { store } = options;

  async function executeForEngine(
    request: ToolCallRequest,
    knowledge: EngineKnowledge,
  ): Promise<ExecutedCall> {
    const { context } = request;
    const startedAt = performance.now();
    const found = await findPlace(store, context, knowledge.project?.path);
    if (!found.ok) return unrecorded(found.error);
    const { files } = found.value;
    // The node the call was made in: after the call, the document may stand at another.
    const nodeId = knowledge.nodeId ?? (await currentNode(store, files, context).catch(() => ""));
    const hasEffect = changesFiles(request);
    const call: CallToRecord = {
      toolCallId: request.toolCallId,
      name: request.name,
      toolName: canonicalToolName(request.name),
      argumentsJson: request.argumentsJson,
      agentId: context.agentId,
      nodeId,
      startedAt,
      hasEffect,
      isExclusive: hasEffect && knowledge.refusal === undefined,
    };
    return runRecorded<ToolResult>(files, call, (lock) =>
      runGraphCall(options, { request, knowledge, place: found.value, lock }).catch((error: unknown) => {
        if (error instanceof LockLost) throw error;
        return refused(callFault(error));
      }),
    );
  }

  return {
    async getVisibleTools({ packageId, agentId, recordsState }) {
      const loaded = await store.packages.open(packageId);
      if (!loaded.ok) throw new Error(loaded.error.message);
      const agent = findAgent(loaded.value, agentId);
      if (!agent.ok) throw new Error(agent.error.message);
      const { fsEnabled, mayEdit } = toolPolicyOf(agent.value);
      return [
        ...(fsEnabled ? FILE_FUNCTION_TOOLS : []),
        ...(mayEdit ? [EDIT_FUNCTION_TOOL] : []),
        ...(recordsState === true ? [STATE_FUNCTION_TOOL] : []),
      ];
    },
    async executeToolCall(request) {
      return (await executeForEngine(withTexts(request), {})).result;
    },
    executeForEngine,
  };
}

/**
 * The run's files: without its project a call is refused, but recorded. `root` is the project's real path, where it is known.
 * Fault: `E_RUN_NOT_FOUND`.
 */
async function findPlace(store: Store, context: ToolCallContext, root?: string): Promise<Result<Place>> {
  const project = root === undefined ? await resolveProject(context.projectRoot) : ok(projectAt(root));
  const run = project.ok ? project : await store.runs.findRun(context.runId);
  const files = run.ok
    ? await store.runs.openFiles(run.value.projectId, context.runId, context.execution)
    : run;
  if (!files.ok) return project.ok ? files : fail(NO_PROJECT.code, NO_PROJECT.message);
  return ok({ files: files.value, root: project.ok ? project.value.root : undefined });
}

/** A refusal where there is no run to record it in. */
function unrecorded(error: Fault): ExecutedCall {
  return { ...refused(error), audit: { lines: 0, sha256: "" } };
}

function changesFiles(request: ToolCallRequest): boolean {
  const tool = canonicalToolName(request.name);
  return tool === "fs.write" || tool === EDIT_TOOL || tool === "fs.apply_patch" || tool === STATE_TOOL;
}
