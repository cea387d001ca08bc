import { type Result, fail, ok } from "../core/errors.js";
import { sessionDir } from "../store/bundle-session.js";
import type { RunFiles } from "../store/run-files.js";
import type { BundleSettings, RunMetadata } from "../store/run-index.js";
import type { Store } from "../store/store.js";
import { type BundlePlace, openBundlePlace } from "./bundle-workspace.js";

/** A bundle run as the store knows it. */
export interface BundleRun {
  readonly run: RunMetadata;
  readonly bundle: BundleSettings;
  readonly files: RunFiles;
}

/** Finds bundle runs and opens their roots. */
export interface BundleRuns {
  /** Faults: `E_RUN_NOT_FOUND`, also for a run that is no bundle run. */
  find(runId: string): Promise<Result<BundleRun>>;
  /** Fault: `E_PROJECT_INVALID`. */
  openPlace(found: BundleRun, hasSession: boolean): Promise<Result<BundlePlace>>;
}

export function bundleRuns(store: Store): BundleRuns {
  return { find: runFinder(store), openPlace: (found, hasSession) => openPlace(store, found, hasSession) };
}

/** Finds runs; what a run was made with never changes, so it is looked up once. */
function runFinder(store: Store): (runId: string) => Promise<Result<BundleRun>> {
  const known = new Map<string, BundleRun>();
  return async (runId) => {
    const before = known.get(runId);
    if (before !== undefined) return ok(before);
    const run = await store.runs.findRun(runId);
    if (!run.ok) return run;
    const { bundle, projectId } = run.value;
    if (bundle === undefined) return fail("E_RUN_NOT_FOUND", "The run is no bundle run.");
    const files = await store.runs.openFiles(projectId, runId);
    if (!files.ok) return files;
    const found = { run: run.value, bundle, files: files.value };
    known.set(runId, found);
    const oldest = known.keys().next().value;
    if (known.size > 500 && oldest !== undefined) known.delete(oldest);
    return ok(found);
  };
}

async function openPlace(
  store: Store,
  { run, bundle }: BundleRun,
  hasSession: boolean,
): Promise<Result<BundlePlace>> {
  const project = await store.runs.projectRoot(run.projectId);
  if (!project.ok) return project;
  const { bundleRoot, coreRoot, sessionId } = bundle;
  const roots = {
    bundleRoot,
    ...(coreRoot === undefined ? {} : { coreRoot }),
    projectRoot: project.value,
    ...(hasSession ? { session: { dir: sessionDir(bundle), sessionId } } : {}),
  };
  return ok(await openBundlePlace(roots, { lockDir: store.lockDir, keepOut: [store.dir] }));
}
