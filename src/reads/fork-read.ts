import type { JsonAnswers, StoreQuestion } from "../contract/reads.js";
import { defined } from "../core/defined.js";
import { type Result, ok } from "../core/errors.js";
import { findForkPoint } from "../store/runs/fork-point.js";
import { resolveProject } from "../store/runs/project-id.js";
import type { Store } from "../store/store.js";
import { compareFiles, forkPlace } from "../tools/files/fork-files.js";

/**
 * Where a fork would begin, and how the project compares with what the run had written by then. The project has to be one that runs
 * may open. Faults: those of `findForkPoint`, of roots and of projects.
 */
export async function forkPointOf(
  store: Store,
  asked: StoreQuestion<"read.fork">,
): Promise<Result<JsonAnswers["read.fork"]>> {
  const { fromNode, visit } = asked;
  const point = await findForkPoint(store.runs, { runId: asked.run, ...defined({ fromNode, visit }) });
  if (!point.ok) return point;
  const { run, boundary } = point.value;
  const named = asked.project === undefined ? await store.runs.projectRoot(run.projectId) : ok(asked.project);
  const permitted = named.ok ? store.roots.permit(named.value, "write") : named;
  if (!permitted.ok) return permitted;
  const { path: projectRoot } = permitted.value;
  const project = await resolveProject(projectRoot);
  if (!project.ok) return project;
  const files = await compareFiles(point.value, forkPlace(store, permitted.value));
  return ok({
    runId: run.runId,
    visit: boundary.visit,
    nodeId: boundary.next,
    projectRoot,
    isElsewhere: project.value.projectId !== run.projectId,
    files,
  });
}
