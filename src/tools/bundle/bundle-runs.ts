import { lstatSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { dirname, sep } from "node:path";
import type { BundleAgent } from "../../core/bundle/bundle-agent.js";
import { type Result, fail, ok } from "../../core/errors.js";
import { NewestKept } from "../../core/newest-kept.js";
import { requireSystemCode, unreadFault } from "../../core/system-code.js";
import { type FileIdentity, realPathNow, saidNow, sameIdentity } from "../../store/roots/root-places.js";
import { sessionDir } from "../../store/runs/bundle-session.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import type { BundleSettings, RunMetadata } from "../../store/runs/run-metadata.js";
import type { Store } from "../../store/store.js";
import type { PermittedRoot } from "../../store/roots/roots.js";
import { loadPermittedAgent } from "./bundle-agent-file.js";
import { earlierOutputs } from "./earlier-outputs.js";
import { type BundlePlace, openBundlePlace } from "./bundle-workspace.js";

/** A bundle run as the store knows it. */
export interface BundleRun {
  readonly run: RunMetadata;
  readonly bundle: BundleSettings;
  readonly files: RunFiles;
  /** The one that the files are opened for, if any. */
  readonly execution?: number | undefined;
}

/** Finds bundle runs and opens their roots. */
export interface BundleRuns {
  /** Faults: `E_RUN_NOT_FOUND`, also for a run that is no bundle run. */
  find(runId: string, execution?: number): Promise<Result<BundleRun>>;
  /** Real path. Fault: `E_PROJECT_INVALID`. */
  projectRoot(found: BundleRun): Promise<Result<string>>;
  /**
   * Whether the run's roots are those that it may open; its session folder as it was then. Faults, for the operator: `E_SANDBOX_VIOLATION`,
   * `E_PROJECT_INVALID`.
   */
  permit(found: BundleRun): Promise<Result<PermittedRoot>>;
  /** The run's agent, if it has one. Faults: `E_SANDBOX_VIOLATION`, and those of `readAgentFile`. */
  loadAgent(found: BundleRun): Promise<Result<BundleAgent | undefined>>;
  /** What earlier runs of its project have saved, in variable form; nothing where the store cannot say. */
  earlierOutputs(found: BundleRun): Promise<readonly string[]>;
  /**
   * Faults: `E_PROJECT_INVALID`, `E_SANDBOX_VIOLATION` when the session folder is gone or a root may not be opened, `E_INTERNAL` when one
   * cannot be read now.
   */
  openPlace(found: BundleRun, hasSession: boolean): Promise<Result<BundlePlace>>;
}

export function bundleRuns(store: Store): BundleRuns {
  return {
    find: runFinder(store),
    projectRoot: ({ run }) => store.runs.projectRoot(run.projectId),
    async permit(found) {
      const permitted = await permitRun(store, found);
      return permitted.ok ? ok(permitted.value.session) : permitted;
    },
    async loadAgent({ bundle: { agentFile } }) {
      return agentFile === undefined ? ok(undefined) : loadPermittedAgent(store.roots, agentFile);
    },
    async earlierOutputs({ run }) {
      const root = await store.runs.projectRoot(run.projectId);
      const runs = root.ok ? await store.runs.listRuns(root.value) : root;
      return root.ok && runs.ok ? earlierOutputs(root.value, runs.value) : [];
    },
    openPlace: (found, hasSession) => openPlace(store, found, hasSession),
  };
}

/** What a run may open, each as it is now: one that a link has taken the place of is no longer that. */
async function permitRun(store: Store, { run, bundle }: BundleRun) {
  const root = await store.runs.projectRoot(run.projectId);
  if (!root.ok) return root;
  const { roots } = store;
  const project = roots.permit(root.value, "write", { isReal: true });
  if (!project.ok) return project;
  const own = roots.permit(bundle.bundleRoot, "read", { isReal: true });
  if (!own.ok) return own;
  const core =
    bundle.coreRoot === undefined ? undefined : roots.permit(bundle.coreRoot, "read", { isReal: true });
  if (core?.ok === false) return core;
  const session = roots.permit(sessionDir(bundle), "write", { kind: "maybe" });
  if (!session.ok) return session;
  return ok({ project: project.value, own: own.value, core: core?.value, session: session.value });
}

const MAX_KNOWN = 500;

/** Finds runs; what a run was made with never changes, so it is looked up once. */
function runFinder(store: Store): BundleRuns["find"] {
  const known = new NewestKept<string, BundleRun>(MAX_KNOWN);
  return async (runId, execution) => {
    const key = `${runId}/${execution ?? ""}`;
    const before = known.get(key);
    if (before !== undefined) return ok(before);
    const run = await store.runs.findRun(runId);
    if (!run.ok) return run;
    const { bundle, projectId } = run.value;
    if (bundle === undefined) return fail("E_RUN_NOT_FOUND", "The run is no bundle run.");
    const files = await store.runs.openFiles(projectId, runId, execution);
    if (!files.ok) return files;
    const found = { run: run.value, bundle, files: files.value, execution };
    known.set(key, found);
    return ok(found);
  };
}

async function openPlace(store: Store, found: BundleRun, hasSession: boolean): Promise<Result<BundlePlace>> {
  const { run, bundle, execution } = found;
  const folder = hasSession ? await plainDirectory(sessionDir(bundle)) : undefined;
  if (folder?.ok === false) return folder;
  const permitted = await permitRun(store, found);
  if (!permitted.ok) {
    // Seen by a model: the operator's sentence is that of `checkRoots`.
    const { code } = permitted.error;
    const what =
      code === "E_INTERNAL" ? "cannot be read now" : "is missing, or not one that this store may open";
    return fail(code, `A directory of this run ${what}.`);
  }
  const { project, own, core, session } = permitted.value;
  // One that was exchanged for a link in between is not what it was.
  if (folder !== undefined && !sameIdentity(folder.value, session.identity)) {
    return fail("E_SANDBOX_VIOLATION", "{session-folder} is missing, or no directory any more.");
  }
  const { sessionId } = bundle;
  const roots = {
    bundleRoot: own.path,
    ...(core === undefined ? {} : { coreRoot: core.path }),
    projectRoot: project.path,
    ...(hasSession ? { session: { dir: session.path, sessionId } } : {}),
  };
  const identities = new Map(
    [project, own, ...(core === undefined ? [] : [core]), session].map(({ path, identity }) => [
      path,
      identity,
    ]),
  );
  const { keepOut, protectedPaths } = store.roots;
  const options = { lockDir: store.lockDir, keepOut, identities, protectedPaths };
  const writer = execution === undefined ? {} : { writer: { runId: run.runId, execution } };
  return openBundlePlace(roots, { ...options, ...writer });
}

/** A link in its place would lead all writes elsewhere. Fault: `E_INTERNAL` where the system does not say it now. */
async function plainDirectory(path: string): Promise<Result<FileIdentity | undefined>> {
  try {
    const entry = await lstat(path, { bigint: true });
    return ok(entry.isDirectory() ? entry : undefined);
  } catch (error) {
    return unreadFault("{session-folder}", requireSystemCode(error)) ?? ok(undefined);
  }
}

/**
 * Whether an output root that lies in the project by its path also does so by its links: a project may come from a stranger.
 * One that the user named elsewhere is the user's choice. Throws where the system does not say it now.
 */
export function staysInProject(projectRoot: string, outputRoot: string): boolean {
  const isInside = (path: string) => path === projectRoot || path.startsWith(projectRoot + sep);
  if (!isInside(outputRoot)) return true;
  for (let at = outputRoot; ; at = dirname(at)) {
    const real = realPathNow(at);
    if (real !== undefined) return isInside(real);
    if (saidNow(() => lstatSync(at, { throwIfNoEntry: false })) !== undefined) {
      // A link that leads nowhere, or what another run has made since.
      const made = realPathNow(at);
      return made !== undefined && isInside(made);
    }
    if (at === dirname(at)) return false;
  }
}
