import { type BundleAgent, pathsToLoad, pickCommand } from "../../core/bundle/bundle-agent.js";
import { type BundleVerdict, judgeBundleAnswer } from "../../core/bundle/bundle-completion.js";
import { renderBundleDirective, renderBundleSystem } from "../../core/bundle/bundle-prompt.js";
import { runErrors } from "../../core/bundle/run-errors.js";
import { type Result, fail, ok } from "../../core/errors.js";
import { excerpt, listSome } from "../../core/text.js";
import type { Intent } from "../../core/prompt/shells.js";
import { formatAliasPath } from "../../core/tools/alias-path.js";
import {
  type SessionManifest,
  type SessionStatus,
  endManifestWrites,
  markSessionFolder,
  openSessionFolder,
  readManifest,
} from "../../store/runs/bundle-session.js";
import type { ModelCall } from "../../core/tools/model-call.js";
import type { PlainMessage } from "../../store/runs/conversation.js";
import { workflowPath } from "./bundle-calls.js";
import type { PermittedRoot } from "../../store/roots/roots.js";
import { preloadWorkflow } from "./bundle-preload.js";
import { type BundleRun, type BundleRuns, staysInProject } from "./bundle-runs.js";
import { onSessionFolder, onSessionPlace } from "./held-folder.js";

/** Where the model is asked and answered in a bundle run: it has no nodes. */
export const BUNDLE_NODE = "workflow";

const MAX_CRITICAL_READS = 16;

/** A run's first messages, and the calls that its agent's critical actions ask for. */
export interface BundleBeginning {
  readonly messages: readonly PlainMessage[];
  /** To be run before the first turn and shown to the model as an answer of its own with these calls. */
  readonly calls: readonly ModelCall[];
}

/** The session of a bundle run from its first message to its end. */
export interface BundleSessions {
  /**
   * Makes the session folder and its manifest; repeated for the same run it is the same session. A first input that picks a
   * command of the agent chooses that command's workflow. Faults: `E_RUN_NOT_FOUND`, `E_AGENT_NOT_FOUND`, `ENOENT` (also for a
   * workflow without instructions) and `E_SCHEMA_VALIDATION` for the workflow, `E_PRECONDITION_FAILED` when the session id is taken
   * or the command is no workflow, `E_PROJECT_INVALID`.
   */
  openSession(
    runId: string,
    options: { readonly input?: string; readonly now: Date },
  ): Promise<Result<SessionManifest>>;
  /** The first messages of an open session. Faults as above, and `E_INTERNAL` for a damaged manifest. */
  begin(runId: string, options: BeginOptions): Promise<Result<BundleBeginning>>;
  /** What a text answer without tool calls means. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL`. */
  judgeAnswer(runId: string, text: string): Promise<Result<BundleVerdict>>;
  readSession(runId: string): Promise<Result<SessionManifest>>;
  /** For an execution of the run: when a newer one has taken over, it throws. */
  markSession(
    runId: string,
    status: SessionStatus,
    now: Date,
    execution?: number,
  ): Promise<Result<SessionManifest>>;
  /** Whether the run's roots may still be opened. Faults, for the operator: `E_SANDBOX_VIOLATION`, `E_PROJECT_INVALID`. */
  checkRoots(runId: string): Promise<Result<undefined>>;
  /** Ends what older executions of the run may still be about to write into the manifest. */
  fenceSession(runId: string, execution: number): Promise<void>;
}

export interface BeginOptions {
  readonly intent: Intent;
  readonly input?: string;
  readonly autopilot: boolean;
  readonly yolo: boolean;
  readonly now: Date;
}

export function bundleSessions(runs: BundleRuns): BundleSessions {
  async function onSession<T>(
    runId: string,
    action: (dir: string, found: BundleRun) => Promise<Result<T>>,
    execution?: number,
  ): Promise<Result<T>> {
    const permitted = await permittedRun(runs, runId, execution);
    if (!permitted.ok) return permitted;
    const { found, session } = permitted.value;
    return onSessionFolder(session, (dir) => action(dir, found));
  }

  return {
    openSession: (runId, options) => openSession(runs, runId, options),
    begin: (runId, options) =>
      onSession(runId, async (dir, found) => {
        const manifest = await readManifest(dir);
        if (!manifest.ok) return manifest;
        const agent = await runs.loadAgent(found);
        if (!agent.ok) return agent;
        const earlier = await runs.earlierOutputs(found);
        return ok(beginning(agent.value, { ...manifest.value, earlier }, options));
      }),
    async judgeAnswer(runId, text) {
      const manifest = await onSession(runId, readManifest);
      if (!manifest.ok) return manifest;
      const { outputs, files } = manifest.value;
      return ok(judgeBundleAnswer(text, outputs, files));
    },
    readSession: (runId) => onSession(runId, readManifest),
    markSession: (runId, status, now, execution) =>
      onSession(
        runId,
        (dir, { files }) => files.whileStateIsMine((lock) => markSessionFolder(dir, status, now, lock)),
        execution,
      ),
    async checkRoots(runId) {
      const permitted = await permittedRun(runs, runId);
      return permitted.ok ? ok(undefined) : permitted;
    },
    async fenceSession(runId, execution) {
      await onSession(
        runId,
        async (dir, { files }) => ok(await files.whileStateIsMine(async () => endManifestWrites(dir))),
        execution,
      );
    },
  };
}

/** A run whose roots may be opened: its session lies in one. */
async function permittedRun(
  runs: BundleRuns,
  runId: string,
  execution?: number,
): Promise<Result<{ readonly found: BundleRun; readonly session: PermittedRoot }>> {
  const found = await runs.find(runId, execution);
  if (!found.ok) return found;
  const session = await runs.permit(found.value);
  return session.ok ? ok({ found: found.value, session: session.value }) : session;
}

async function openSession(
  runs: BundleRuns,
  runId: string,
  { input = "", now }: { readonly input?: string; readonly now: Date },
): Promise<Result<SessionManifest>> {
  const permitted = await permittedRun(runs, runId);
  if (!permitted.ok) return permitted;
  const { found, session } = permitted.value;
  const { bundle } = found;
  // A session that is open stays what it is, whatever has become of the agent and the workflow's files since.
  const known = await onSessionFolder(session, readManifest);
  if (known.ok && known.value.runId === runId)
    return onSessionPlace(session, (folder) => openSessionFolder(folder, known.value));
  const agent = await runs.loadAgent(found);
  if (!agent.ok) return agent;
  const place = await runs.openPlace(found, false);
  if (!place.ok) return place;
  const project = await runs.projectRoot(found);
  if (!project.ok) return project;
  if (!staysInProject(project.value, bundle.outputRoot)) {
    const sentence =
      "The output directory leads out of the project through a link. Name another with --output.";
    return fail("E_PROJECT_INVALID", sentence);
  }
  const picked = agent.value === undefined ? undefined : pickCommand(agent.value, input);
  if (picked?.notHere !== undefined) {
    const sentence = `${excerpt(picked.trigger)} of the agent is no workflow: it would ${excerpt(picked.notHere)}, which a bundle run does not do. Choose another command, or import what it names: interlock package import <path>`;
    return fail("E_PRECONDITION_FAILED", sentence);
  }
  const workflow = workflowPath(place.value, picked?.workflow ?? bundle.workflowPath);
  if (!workflow.ok) return workflow;
  const preload = await preloadWorkflow(place.value, workflow.value);
  if (!preload.ok) return preload;
  const { errors } = runErrors(preload.value);
  if (errors.length > 0) {
    return fail("ENOENT", `${formatAliasPath(workflow.value)} cannot be run: ${listSome(errors)}.`);
  }
  const manifest: SessionManifest = {
    sessionId: bundle.sessionId,
    runId,
    workflow: formatAliasPath(workflow.value),
    agent: agent.value?.name ?? null,
    status: "running",
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
    outputs: preload.value.outputs.map((output) => ({ ...output })),
    files: [],
  };
  return onSessionPlace(session, (folder) => openSessionFolder(folder, manifest));
}

function beginning(
  agent: BundleAgent | undefined,
  manifest: SessionManifest & { readonly earlier: readonly string[] },
  options: BeginOptions,
): BundleBeginning {
  const { intent, input = "", autopilot, yolo, now } = options;
  const picked = agent === undefined ? undefined : pickCommand(agent, input);
  const directive = renderBundleDirective({
    intent,
    workflow: manifest.workflow,
    ...(agent === undefined ? {} : { agent: agent.name }),
    ...(picked === undefined ? {} : { command: picked.trigger }),
    ...(picked?.data === undefined ? {} : { commandData: picked.data }),
    date: now.toISOString().slice(0, 10),
    autopilot,
    yolo,
    outputs: manifest.outputs,
    earlier: manifest.earlier,
  });
  const messages: readonly PlainMessage[] = [
    { role: "system", content: renderBundleSystem(agent, { yolo }) },
    { role: "user", content: directive },
  ];
  return { messages, calls: agent === undefined ? [] : criticalCalls(agent) };
}

/** The reads that an agent's critical actions ask for, each file once. */
function criticalCalls(agent: BundleAgent): readonly ModelCall[] {
  const paths = [...new Set(agent.criticalActions.flatMap(pathsToLoad))].slice(0, MAX_CRITICAL_READS);
  return paths.map((path, index) => ({
    id: `critical-${index + 1}`,
    name: "read_file",
    argumentsJson: JSON.stringify({ file_path: path }),
  }));
}
