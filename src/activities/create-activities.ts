import { ApplicationFailure, Context } from "@temporalio/activity";
import type { Activities, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import { WRONG_STORE_FAILURE } from "../contract/names.js";
import type { RunRef } from "../contract/run.js";
import type { JsonValue } from "../core/json.js";
import { FILE_TOOLS } from "../core/tools/tool-specs.js";
import { summarizeForAudit } from "../store/audit-summary.js";
import type { RunFiles } from "../store/run-files.js";
import { selectWorkflow } from "../store/run-manager.js";
import { sha256 } from "../store/sha256.js";
import { unwrap } from "./failures.js";
import { type ModelTurnDeps, modelTurn } from "./model-turn.js";

/** What the activities work with; the composition root passes it in. */
export type ActivityDeps = ModelTurnDeps;

/** How often a model call tells Temporal that it is alive. Well below its heartbeat timeout. */
const HEARTBEAT_MS = 1_500;

/** Temporal's skin around store, tools and model. */
export function createActivities(deps: ActivityDeps): Activities {
  const { store } = deps;

  async function open(run: RunRef): Promise<RunFiles> {
    checkStore(run.storeId);
    return unwrap(await store.runs.openFiles(run.projectId, run.runId));
  }

  function checkStore(storeId: string | undefined): void {
    if (storeId === undefined || storeId === store.storeId) return;
    throw ApplicationFailure.create({
      type: WRONG_STORE_FAILURE,
      message: `This worker has store ${store.storeId}, but the run lives in store ${storeId}. Start a worker with that store, or give this store a task queue of its own.`,
    });
  }

  async function runTool(input: ToolCallInput): Promise<ToolCallOutcome> {
    const files = await open(input.run);
    const call = await recordedCall(files, input);
    const root = unwrap(await store.runs.projectRoot(input.run.projectId));
    const executed = await deps.toolHost.executeForEngine(
      {
        toolCallId: call.id,
        name: call.name,
        argumentsJson: call.argumentsJson,
        context: {
          projectRoot: root,
          packageId: input.run.packageId,
          workflowId: input.run.workflowRef,
          runId: input.run.runId,
          agentId: input.agentId,
        },
        signal: Context.current().cancellationSignal,
      },
      {
        nodeId: input.nodeId,
        stateSha256: input.stateSha256,
        now: input.now,
        ...(input.refusal === undefined ? {} : { refusal: input.refusal }),
      },
    );
    return toOutcome(executed);
  }

  const tools = Object.fromEntries(FILE_TOOLS.map((name) => [name, runTool])) as Pick<
    Activities,
    (typeof FILE_TOOLS)[number]
  >; // each tool of FILE_TOOLS is there

  return {
    ...tools,
    "tool.refuse": runTool,
    "state.persist": runTool,
    async "run.open"(input) {
      checkStore(input.storeId);
      const loaded = unwrap(await store.packages.open(input.packageId));
      const activeAgentId = input.activeAgentId ?? loaded.agents[0]?.id ?? "";
      const metadata = unwrap(
        await store.runs.createRun({
          runId: input.runId,
          projectRoot: input.projectRoot,
          packageId: input.packageId,
          activeAgentId,
          ...(input.workflowRef === undefined ? {} : { workflowRef: input.workflowRef }),
        }),
      );
      await store.runs.setPhase(metadata, "running", new Date());
      const { runId, projectId, packageId, workflowRef } = metadata;
      const { graph } = unwrap(selectWorkflow(loaded, workflowRef));
      const { storeId } = store;
      const rehearsal = input.rehearsal === undefined ? {} : { rehearsal: input.rehearsal };
      return {
        run: { runId, storeId, projectId, packageId, workflowRef, activeAgentId, ...rehearsal },
        graph,
      };
    },
    async "state.load"({ run }) {
      const document = unwrap(await (await open(run)).state.read());
      return { frontmatter: document.frontmatter, sha256: document.sha256 };
    },
    async "model.turn"(input) {
      const files = await open(input.run);
      const context = Context.current();
      context.heartbeat();
      const heartbeat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
      try {
        return await modelTurn(deps, files, input, context);
      } finally {
        clearInterval(heartbeat);
      }
    },
    async "user.input"(input) {
      const files = await open(input.run);
      const { inputId, nodeId, text } = input;
      await files.conversation(input.conversation).append([{ type: "user", id: inputId, nodeId, text }]);
      return files.audit.record(
        { kind: "user.input", id: inputId, nodeId, input: summarizeForAudit({ content: text }) },
        new Date(),
      );
    },
    async "run.phase"(input) {
      const files = await open(input.run);
      const { phase, nodeId, change, fault, question, usage } = input;
      await files.status.write({
        phase,
        nodeId,
        change,
        usage,
        ...(fault === undefined ? {} : { fault }),
        ...(question === undefined ? {} : { question }),
      });
      await store.runs.setPhase(input.run, phase, new Date());
      return files.audit.record(
        {
          kind: "run.phase",
          id: String(input.change),
          phase: input.phase,
          nodeId: input.nodeId,
          ...(input.fault === undefined ? {} : { code: input.fault.code, message: input.fault.message }),
        },
        new Date(),
      );
    },
  };
}

async function recordedCall(files: RunFiles, input: ToolCallInput) {
  const entries = await files.conversation(input.conversation).entries();
  for (const entry of entries) {
    const call = entry.type === "assistant" ? entry.calls.find(({ id }) => id === input.callId) : undefined;
    if (call !== undefined) return call;
  }
  throw new Error(
    `The conversation ${input.conversation} holds no call ${sha256(input.callId).slice(0, 8)}.`,
  );
}

/** What the history keeps of a call: codes, sizes and hashes, no contents. */
function toOutcome(
  executed: Awaited<ReturnType<ActivityDeps["toolHost"]["executeForEngine"]>>,
): ToolCallOutcome {
  const { result, audit } = executed;
  const changes = {
    ...(executed.state === undefined ? {} : { state: executed.state }),
    ...(executed.stateConflict === true ? { stateConflict: true } : {}),
    audit,
  };
  if (!result.ok) return { ok: false, code: result.error.code, ...changes };
  const hash = result["sha256After"] ?? result["sha256"];
  const bytes = result["bytesWritten"] ?? result["bytes"];
  return {
    ok: true,
    ...(isText(result["path"]) ? { path: result["path"].slice(0, 200) } : {}),
    ...(typeof bytes === "number" ? { bytes } : {}),
    ...(isText(hash) ? { sha256: hash } : {}),
    ...changes,
  };
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string";
}
