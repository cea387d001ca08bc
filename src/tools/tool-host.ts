import {
  DEFAULT_MAX_READ_BYTES,
  DEFAULT_MAX_WRITE_BYTES,
  HOST_MAX_READ_BYTES,
  HOST_MAX_WRITE_BYTES,
} from "../core/engine/limits.js";
import { type Fault, type Result, fail, ok } from "../core/errors.js";
import { failpoint } from "../core/failpoint.js";
import type { JsonObject, JsonValue } from "../core/json.js";
import type { Agent } from "../core/package/schemas.js";
import { redactSecrets } from "../core/prompt/redact.js";
import type { ToolPolicy } from "../core/prompt/system-messages.js";
import { NO_FACTS, effectiveNodeId } from "../core/state/transition-guard.js";
import { excerpt } from "../core/text.js";
import {
  type AliasPath,
  describeAliasPath,
  formatAliasPath,
  isStateDocument,
  parseAliasPath,
} from "../core/tools/alias-path.js";
import type { ToolResult } from "../core/tools/tool-result.js";
import {
  FILE_FUNCTION_TOOLS,
  type FileToolCall,
  type FunctionTool,
  canonicalToolName,
  nestingDepth,
  parseToolCall,
} from "../core/tools/tool-specs.js";
import type { ChainHead } from "../store/audit-log.js";
import { summarizeForAudit } from "../store/audit-summary.js";
import { type HeldLock, LockLost, NO_LOCK } from "../store/file-lock.js";
import { resolveProject } from "../store/project-id.js";
import type { RunFiles } from "../store/run-files.js";
import { findAgent, selectWorkflow } from "../store/run-manager.js";
import { sha256 } from "../store/sha256.js";
import type { Store } from "../store/store.js";
import { writeArtifact } from "./artifact-write.js";
import { type CallOutcome, type CallScene, type EngineKnowledge, refused } from "./call-scene.js";
import { Refusal, systemErrorCode } from "./faults.js";
import { listDirectory } from "./list.js";
import type { ProtectedPaths } from "./name-rules.js";
import { readFile } from "./read.js";
import { runTool } from "./run-tool.js";
import { searchFiles } from "./search.js";
import { changeStateDocument } from "./state-change.js";
import { type FileLimits, openWorkspace } from "./workspace.js";
import { openWriteTarget } from "./write-target.js";

/** Whose call it is, and in which run. */
export interface ToolCallContext {
  readonly projectRoot: string;
  readonly packageId: string;
  /** Which workflow of the package; its guard's graph is used. */
  readonly workflowId: string;
  readonly runId: string;
  readonly agentId: string;
}

export interface ToolCallRequest {
  /** Equal ids in one run are one call: the second gets the recorded result and has no effect. */
  readonly toolCallId: string;
  readonly name: string;
  readonly argumentsJson: string;
  readonly context: ToolCallContext;
  readonly signal?: AbortSignal;
}

export interface ExecutedCall extends CallOutcome {
  readonly audit: ChainHead;
}

/** Runs tool calls on the three mounts of a run: policy, sandbox, guard, audit, each call once. */
export interface ToolHost {
  /** The OpenAI function tools an agent may use. Throws when package or agent do not exist. */
  getVisibleTools(agent: {
    readonly packageId: string;
    readonly agentId: string;
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

const UNFORESEEN: Fault = fail(
  "E_INTERNAL",
  "The call failed for an unforeseen reason. Read what it was about before you repeat it.",
).error;

const DISK_FULL: Fault = fail(
  "E_WRITE_LIMIT",
  "Nothing was written: the disk is full. What was there before is unchanged.",
).error;

/** Says nothing of where the project lies: a result may be shown to a model. */
const NO_PROJECT: Fault = fail("E_PROJECT_INVALID", "The project's directory does not exist.").error;

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
    const note = (outcome: CallOutcome): Promise<ChainHead> =>
      files.audit.record(
        {
          kind: "tool.exec",
          toolCallId: request.toolCallId,
          toolName:
            canonicalToolName(request.name) ?? excerpt(redactSecrets(request.name.slice(0, 1000)), 100),
          agentId: context.agentId,
          nodeId,
          input: summarizeForAudit(parseLoosely(request.argumentsJson)),
          output: summarizeForAudit(outcome.result as JsonObject), // tool results are JSON
          durationMs: Math.round(performance.now() - startedAt),
        },
        new Date(),
      );
    const known = await files.calls.find(request.toolCallId);
    if (known !== undefined) return { ...known, audit: await note(known) };
    return runOnce(options, request, knowledge, found.value, note);
  }

  return {
    async getVisibleTools({ packageId, agentId }) {
      const loaded = await store.packages.open(packageId);
      if (!loaded.ok) throw new Error(loaded.error.message);
      const agent = findAgent(loaded.value, agentId);
      if (!agent.ok) throw new Error(agent.error.message);
      return toolPolicyOf(agent.value).fsEnabled ? FILE_FUNCTION_TOOLS : [];
    },
    async executeToolCall(request) {
      const knowledge = options.evaluateConditions === true ? { conditions: NO_FACTS } : {};
      return (await executeForEngine(withTexts(request), knowledge)).result;
    },
    executeForEngine,
  };
}

/** The run's files: without its project a call is refused, but recorded. Fault: `E_RUN_NOT_FOUND`. */
async function findPlace(store: Store, context: ToolCallContext): Promise<Result<Place>> {
  const project = await resolveProject(context.projectRoot);
  const run = project.ok ? project : await store.runs.findRun(context.runId);
  const files = run.ok ? await store.runs.openFiles(run.value.projectId, context.runId) : run;
  if (!files.ok) return project.ok ? files : fail(NO_PROJECT.code, NO_PROJECT.message);
  return ok({ files: files.value, root: project.ok ? project.value.root : undefined });
}

/**
 * The same call twice at once is run once: the second one finds the first one's record. What a crash leaves of record
 * and audit event, the repetition completes. They are written side by side for a read; a call with an effect is recorded
 * first, or the log could keep the failure of an attempt that was made again with success.
 */
function runOnce(
  options: ToolHostOptions,
  request: ToolCallRequest,
  knowledge: EngineKnowledge,
  place: Place,
  note: (outcome: CallOutcome) => Promise<ChainHead>,
): Promise<ExecutedCall> {
  const { files } = place;
  const once = async (lock: HeldLock): Promise<ExecutedCall> => {
    const known = await files.calls.find(request.toolCallId);
    if (known !== undefined) return { ...known, audit: await note(known) };
    const outcome = await attempt(options, request, knowledge, place, lock).catch((error: unknown) => {
      if (error instanceof LockLost) throw error;
      return refused(faultOf(error));
    });
    failpoint("call.done");
    const recording = files.calls.record(request.toolCallId, outcome, lock);
    if (changesFiles(request)) await recording;
    const [isRecorded, audit] = await Promise.all([recording, note(outcome)]);
    if (isRecorded) return { ...outcome, audit };
    return { ...((await files.calls.find(request.toolCallId)) ?? outcome), audit }; // a read that ran twice at once
  };
  return changesFiles(request) && knowledge.refusal === undefined
    ? files.whileStateIsMine(once)
    : once(NO_LOCK);
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
  if (!limits.fsEnabled && canonicalToolName(request.name) !== undefined) {
    return refused(fail("TOOL_NOT_AVAILABLE", "The file tools are disabled for this agent.").error);
  }
  if (knowledge.refusal !== undefined) return refused(knowledge.refusal);
  if (place.root === undefined) return refused(NO_PROJECT);
  const call = parseToolCall(request.name, request.argumentsJson);
  if (!call.ok) return refused(call.error);
  const workspace = openWorkspace({
    roots: { project: place.root, pkg: loaded.value.dir, state: place.files.stateDir },
    lockDir: store.lockDir,
    keepOut: [store.dir],
    ...(options.protectedPaths === undefined ? {} : { protectedPaths: options.protectedPaths }),
  });
  const scene: CallScene = {
    files: place.files,
    workspace,
    workflow: workflow.value,
    limits,
    knowledge,
    lock,
  };
  return dispatch(scene, request, call.value);
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
  scene: CallScene,
  request: ToolCallRequest,
  call: FileToolCall,
): Promise<CallOutcome> | CallOutcome {
  switch (call.tool) {
    case "fs.list":
      return plain(listDirectory(scene.workspace, call.arguments));
    case "fs.read":
      return plain(readFile(scene.workspace, call.arguments, scene.limits));
    case "fs.search":
      return plain(searchFiles(scene.workspace, call.arguments, scene.limits, request.signal));
    case "fs.write":
    case "fs.apply_patch": {
      const path = parseAliasPath(call.arguments.path);
      if (!path.ok) return refused(path.error);
      if (isStateDocument(path.value)) return changeStateDocument(scene, request.toolCallId, call);
      if (call.tool === "fs.write") return writeArtifact(scene, request.toolCallId, call.arguments);
      return refusePatch(scene, path.value);
    }
  }
}

/** Only the state document takes a patch. Where nothing may be written at all, that is what the model hears. */
async function refusePatch({ workspace }: CallScene, path: AliasPath): Promise<CallOutcome> {
  const sentence = `fs.apply_patch changes @state/workflow.md only, not ${describeAliasPath(path)}. Use fs.write.`;
  const result = await runTool(formatAliasPath(path), "write", async () => {
    if (path.mount === "pkg") throw new Refusal("E_SANDBOX_VIOLATION", "@pkg is read-only.");
    openWriteTarget(workspace, path, false)?.close();
    throw new Refusal("TOOL_ARGS_INVALID", sentence);
  });
  const isForbidden = !result.ok && result.error.code === "E_SANDBOX_VIOLATION";
  return isForbidden ? { result } : refused(fail("TOOL_ARGS_INVALID", sentence).error);
}

function faultOf(error: unknown): Fault {
  const code = systemErrorCode(error);
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG" ? DISK_FULL : UNFORESEEN;
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
  return tool === "fs.write" || tool === "fs.apply_patch";
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

/** The arguments as far as they can be read; else what they are, by size and hash. */
function parseLoosely(argumentsJson: string): JsonValue {
  if (argumentsJson.length <= 10_000_000 && nestingDepth(argumentsJson) <= 100) {
    try {
      return JSON.parse(argumentsJson) as JsonValue; // whatever JSON.parse gives is JSON
    } catch {
      // the text itself is summarised
    }
  }
  return { malformed: { bytes: Buffer.byteLength(argumentsJson), sha256: sha256(argumentsJson) } };
}
