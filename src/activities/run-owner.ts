import type { OpenRunInput } from "../contract/activities.js";
import type { RunExecution } from "../core/run/run-execution.js";
import { type Fault, fail } from "../core/errors.js";
import { workflowIdOf } from "../core/run/run-id.js";
import { resolveProject } from "../store/runs/project-id.js";
import { DamagedIndex } from "../store/runs/run-index.js";
import { type RunMetadata, workflowIdOfRun } from "../store/runs/run-metadata.js";
import type { Store } from "../store/store.js";
import { resumes } from "./begin-execution.js";
import { toApplicationFailure, unwrap } from "./failures.js";
import { notAtItsPath } from "./run-scope.js";

/**
 * The run that a workflow asks to open, as the store knows it; undefined for a new one. Nothing is touched yet. Refuses, for
 * good, a workflow that the run does not belong to, and one that begins a run anew which another execution has begun.
 */
export async function ownRun(store: Store, request: OpenRunInput): Promise<RunMetadata | undefined> {
  const known = await placedRun(store, request.input.runId);
  const fault = known === undefined ? faultOfNew(request) : await faultOfKnown(store, known, request);
  if (fault !== undefined) throw toApplicationFailure(fault);
  return known;
}

async function placedRun(store: Store, runId: string): Promise<RunMetadata | undefined> {
  try {
    return await store.runs.findPlaced(runId);
  } catch (error) {
    if (!(error instanceof DamagedIndex)) throw error;
    throw toApplicationFailure(fail("E_INDEX_WRITE_FAILED", error.message).error);
  }
}

/** A run that is not there can be begun by the workflow that its id says, or that its id comes from. */
function faultOfNew({ input: { runId }, execution }: OpenRunInput): Fault | undefined {
  const { workflowId, id, resetOf: first = id } = execution ?? {};
  if (workflowId === undefined || workflowId === workflowIdOf(runId) || first === runId) return undefined;
  const sentence = `Run ${runId} does not belong to the workflow ${workflowId}. Start it anew without runId and resume, or as ${workflowIdOf(runId)}.`;
  return fail("E_PRECONDITION_FAILED", sentence).error;
}

async function faultOfKnown(
  store: Store,
  known: RunMetadata,
  request: OpenRunInput,
): Promise<Fault | undefined> {
  const { kind, input, execution } = request;
  const { runId, projectRoot } = input;
  const workflowId = execution?.workflowId;
  if (workflowId !== undefined && workflowId !== workflowIdOfRun(known)) {
    const sentence = `Run ${runId} does not belong to the workflow ${workflowId}, but to ${workflowIdOfRun(known)}.`;
    return fail("E_PRECONDITION_FAILED", sentence).error;
  }
  if ((kind === "bundle") !== (known.bundle !== undefined)) {
    const sentence = `Run ${runId} is a ${known.bundle === undefined ? "graph" : "bundle"} run: it goes on as one.`;
    return fail("E_PRECONDITION_FAILED", sentence).error;
  }
  const project = await resolveProject(projectRoot);
  if (!project.ok && project.error.code === "E_INTERNAL") return project.error;
  if (!project.ok || project.value.projectId !== known.projectId)
    return notAtItsPath(runId, projectRoot, kind).error;
  if (execution === undefined || resumes(request) || (await hasBegun(store, known, execution)))
    return undefined;
  const sentence = `Run ${runId} was begun before, by an execution that is over. Let it go on with: interlock retry ${runId}`;
  return fail("E_PRECONDITION_FAILED", sentence).error;
}

/** Whether an execution is one that the run knows: it asks again, goes on as new, or is late and will be shut out. */
async function hasBegun(
  store: Store,
  { projectId, runId }: RunMetadata,
  { id, startedAt }: RunExecution,
): Promise<boolean> {
  const { executions, request } = unwrap(await store.runs.openFiles(projectId, runId));
  const last = executions.last();
  if (last !== undefined) return last.id === id || last.startedAt >= startedAt;
  const kept = await request.read();
  return kept?.executionId === undefined || kept.executionId === id;
}
