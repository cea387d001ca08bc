import {
  DEFAULT_MAX_READ_BYTES,
  DEFAULT_MAX_WRITE_BYTES,
  HOST_MAX_READ_BYTES,
  HOST_MAX_WRITE_BYTES,
} from "../../core/run/limits.js";
import { type Fault, type Result, fail, ok } from "../../core/errors.js";
import type { Agent } from "../../core/package/schemas.js";
import type { ToolPolicy } from "../../core/prompt/system-messages.js";
import { conditionFacts, effectiveNodeId } from "../../core/state/transition-guard.js";
import {
  type AliasPath,
  describeAliasPath,
  formatAliasPath,
  isStateDocument,
  parseAliasPath,
} from "../../core/tools/alias-path.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { FunctionTool } from "../../core/tools/tool-arguments.js";
import {
  FILE_FUNCTION_TOOLS,
  STATE_FUNCTION_TOOL,
  STATE_TOOL,
  type ToolCall,
  canonicalToolName,
  parseToolCall,
} from "../../core/tools/tool-specs.js";
import { type HeldLock, LockLost } from "../../store/disk/fenced-lock.js";
import { resolveProject } from "../../store/runs/project-id.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import { findAgent, selectWorkflow } from "../../store/runs/run-manager.js";
import type { Store } from "../../store/store.js";
import { writeArtifact } from "./artifact-write.js";
import type { CallOutcome } from "../../store/runs/call-journal.js";
import { type CallEnvironment, type EngineKnowledge, refused } from "./call-context.js";
import { Refusal, callFault } from "../sandbox/faults.js";
import { listDirectory } from "../files/list.js";
import type { ProtectedPaths } from "../../core/tools/name-rules.js";
import { readFile } from "../files/read.js";
import {
  type CallContext,
  type CallRequest,
  type CallToRecord,
  type ExecutedCall,
  runRecorded,
} from "../recorded-call.js";
import { runTool } from "../sandbox/run-on-path.js";
import { searchFiles } from "../files/search.js";
import { recordState } from "./record-state.js";
import { changeStateDocument } from "./state-change.js";
import { type FileLimits, openWorkspace } from "../sandbox/workspace.js";
import { openWriteTarget } from "../sandbox/write-target.js";

/** Whose call it is, and in which run. */
export interface ToolCallContext extends CallContext {
  readonly projectRoot: string;
  readonly packageId: string;
  /** Which workflow of the package; its guard's graph is used. */
  readonly workflowId: string;
}

export interface ToolCallRequest extends CallRequest {
  readonly context: ToolCallContext;
  readonly signal?: AbortSignal;
}

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

export interface ToolHostOptions {
  readonly store: Store;
  readonly protectedPaths?: ProtectedPaths;
  /** Makes `conditionExpr` of edges binding for calls that come without an engine. */
  readonly evaluateConditions?: boolean;
}

interface Place {
  readonly files: RunFiles;
  /** Real path of the project; undefined when its directory is gone. */
  readonly root: string | undefined;
}

/** Says nothing of where the project lies: a result may be shown to a model. */
const NO_PROJECT: Fault = fail("E_PROJECT_INVALID", "The project's directory does not exist.").error;

/** As little: the operator's sentence is `run.open`'s. */
const NOT_PERMITTED: Fault = fail(
  "E_SANDBOX_VIOLATION",
  "The project's directory is not one that this store may open.",
).error;

export function createToolHost(options: ToolHostOptions): ToolHost {
  const { store } = options;

  async function executeForEngine(
    request: ToolCallRequest,
    knowledge: EngineKnowledge,
  ): Promise<ExecutedCall> {
    const { context } = request;
    const startedAt = performance.now();
    const found = await findPlace(store, context);
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
      attempt(options, request, knowledge, found.value, lock).catch((error: unknown) => {
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
      const files = toolPolicyOf(agent.value).fsEnabled ? FILE_FUNCTION_TOOLS : [];
      return recordsState === true ? [...files, STATE_FUNCTION_TOOL] : files;
    },
    async executeToolCall(request) {
      return (await executeForEngine(withTexts(request), {})).result;
    },
    executeForEngine,
  };
}

/** The run's files: without its project a call is refused, but recorded. Fault: `E_RUN_NOT_FOUND`. */
async function findPlace(store: Store, context: ToolCallContext): Promise<Result<Place>> {
  const project = await resolveProject(context.projectRoot);
  const run = project.ok ? project : await store.runs.findRun(context.runId);
  const files = run.ok
    ? await store.runs.openFiles(run.value.projectId, context.runId, context.execution)
    : run;
  if (!files.ok) return project.ok ? files : fail(NO_PROJECT.code, NO_PROJECT.message);
  return ok({ files: files.value, root: project.ok ? project.value.root : undefined });
}

async function attempt(
  options: ToolHostOptions,
  request: ToolCallRequest,
  knowledge: EngineKnowledge,
  place: Place,
  lock: HeldLock,
): Promise<CallOutcome> {
  const { store } = options;
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
  if (knowledge.refusal !== undefined) return refused(knowledge.refusal);
  const call = parseToolCall(request.name, request.argumentsJson);
  if (!call.ok) return refused(call.error);
  if (call.value.tool === STATE_TOOL) return recordState(place.files, call.value.arguments, knowledge);
  if (place.root === undefined) return refused(NO_PROJECT);
  // An execution is Temporal's; a program without one names its directories itself.
  const project =
    context.execution === undefined
      ? store.roots.inspect(place.root)
      : store.roots.permit(context.projectRoot, "write", { isReal: true });
  if (!project.ok) return refused(NOT_PERMITTED);
  const workspace = openWorkspace({
    roots: { project: project.value.path, pkg: loaded.value.dir, state: place.files.stateDir },
    projectIdentity: project.value.identity,
    lockDir: store.lockDir,
    keepOut: store.roots.keepOut,
    ...(context.execution === undefined
      ? {}
      : { writer: { runId: context.runId, execution: context.execution } }),
    ...(options.protectedPaths === undefined ? {} : { protectedPaths: options.protectedPaths }),
  });
  const environment: CallEnvironment = {
    files: place.files,
    workspace,
    workflow: workflow.value,
    limits,
    knowledge: options.evaluateConditions === true ? await withFacts(knowledge, place.files) : knowledge,
    lock,
  };
  return dispatch(environment, request, call.value);
}

/** Without an engine, conditions see the graph state on disk. */
async function withFacts(knowledge: EngineKnowledge, files: RunFiles): Promise<EngineKnowledge> {
  if (knowledge.conditions !== undefined) return knowledge;
  const held = await files.graphState.current();
  return { ...knowledge, conditions: conditionFacts(held?.state) };
}

/** Where the state document stands; empty where that cannot be told. */
async function currentNode(store: Store, files: RunFiles, context: ToolCallContext): Promise<string> {
  const document = await files.state.read();
  const loaded = await store.packages.open(context.packageId);
  const workflow = loaded.ok ? selectWorkflow(loaded.value, context.workflowId) : loaded;
  if (!document.ok || !workflow.ok) return "";
  return effectiveNodeId(document.value.frontmatter.currentNodeId, workflow.value.graph);
}

function dispatch(
  environment: CallEnvironment,
  request: ToolCallRequest,
  call: Exclude<ToolCall, { tool: typeof STATE_TOOL }>,
): Promise<CallOutcome> | CallOutcome {
  switch (call.tool) {
    case "fs.list":
      return plain(listDirectory(environment.workspace, call.arguments));
    case "fs.read":
      return plain(readFile(environment.workspace, call.arguments, environment.limits));
    case "fs.search":
      return plain(searchFiles(environment.workspace, call.arguments, environment.limits, request.signal));
    case "fs.write":
    case "fs.apply_patch": {
      const path = parseAliasPath(call.arguments.path);
      if (!path.ok) return refused(path.error);
      if (isStateDocument(path.value)) return changeStateDocument(environment, request.toolCallId, call);
      if (call.tool === "fs.write") return writeArtifact(environment, request.toolCallId, call.arguments);
      return refusePatch(environment, path.value);
    }
  }
}

/** Only the state document takes a patch. Where nothing may be written at all, that is what the model hears. */
async function refusePatch({ workspace }: CallEnvironment, path: AliasPath): Promise<CallOutcome> {
  const sentence = `fs.apply_patch changes @state/workflow.md only, not ${describeAliasPath(path)}. Use fs.write.`;
  const result = await runTool(formatAliasPath(path), "write", async () => {
    if (path.mount === "pkg") throw new Refusal("E_SANDBOX_VIOLATION", "@pkg is read-only.");
    openWriteTarget(workspace, path, false)?.close();
    throw new Refusal("TOOL_ARGS_INVALID", sentence);
  });
  const isForbidden = !result.ok && result.error.code === "E_SANDBOX_VIOLATION";
  return isForbidden ? { result } : refused(fail("TOOL_ARGS_INVALID", sentence).error);
}

async function plain(result: Promise<ToolResult>): Promise<CallOutcome> {
  return { result: await result };
}

/** A refusal where there is no run to record it in. */
function unrecorded(error: Fault): ExecutedCall {
  return { ...refused(error), audit: { lines: 0, sha256: "" } };
}

/** What a model sent may be no text where the caller has no types: then it is an empty one, which is refused later. */
function withTexts(request: ToolCallRequest): ToolCallRequest {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const { toolCallId, name, argumentsJson } = request;
  return { ...request, toolCallId: text(toolCallId), name: text(name), argumentsJson: text(argumentsJson) };
}

function changesFiles(request: ToolCallRequest): boolean {
  const tool = canonicalToolName(request.name);
  return tool === "fs.write" || tool === "fs.apply_patch" || tool === STATE_TOOL;
}

/** The file tool policy of an agent: its own limits, never above the host's caps. */
export function toolPolicyOf(agent: Agent): ToolPolicy & FileLimits {
  const fs = agent.tools?.fs;
  return {
    fsEnabled: fs?.enabled ?? true,
    maxReadBytes: Math.min(fs?.maxReadBytes ?? DEFAULT_MAX_READ_BYTES, HOST_MAX_READ_BYTES),
    maxWriteBytes: Math.min(fs?.maxWriteBytes ?? DEFAULT_MAX_WRITE_BYTES, HOST_MAX_WRITE_BYTES),
  };
}
