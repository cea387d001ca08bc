import { join } from "node:path";
import { agentPlace } from "../../core/bundle/agent-place.js";
import type { RegisteredRoot } from "./roots.js";
import { realPathOf } from "./root-places.js";
import type { RunManager } from "../runs/run-manager.js";

/**
 * The directories that the runs of a store were made with, for a store that kept no list of them: its runs go on
 * (docs/decisions/2026-11-22-registered-roots.md).
 */
export async function rootsOfRuns(
  runs: RunManager,
): Promise<readonly Pick<RegisteredRoot, "path" | "access">[]> {
  const found: Pick<RegisteredRoot, "path" | "access">[] = [];
  const add = (path: string | undefined, access: RegisteredRoot["access"]) => {
    const real = path === undefined ? undefined : realPathOf(path);
    if (real !== undefined) found.push({ path: real, access });
  };
  for (const { projectId, bundle } of (await runs.surveyRuns()).runs) {
    const root = await runs.projectRoot(projectId);
    if (root.ok) add(root.value, "write");
    if (bundle === undefined) continue;
    add(bundle.bundleRoot, "read");
    add(bundle.coreRoot, "read");
    if (bundle.agentFile !== undefined) add(agentPlace(bundle.agentFile).path, "read");
    if (!root.ok || bundle.outputRoot !== join(root.value, "artifacts")) add(bundle.outputRoot, "write");
  }
  return found;
}
