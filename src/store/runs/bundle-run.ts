import { realpath, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type Result, fail, ok } from "../../core/errors.js";
import { requireSystemCode, unreadFault } from "../../core/system-code.js";
import type { Project } from "./project-id.js";
import type { BundleSettings, RunMetadata } from "./run-metadata.js";

/** What a new bundle run is made from (contracts §13). The directories are host paths and must exist. */
export interface CreateBundleRunRequest {
  readonly projectRoot: string;
  readonly bundleRoot: string;
  readonly coreRoot?: string;
  /** Variable form: `{bundle-root}/workflows/intake/workflow.yaml`. */
  readonly workflowPath: string;
  /** What the workflow calls itself. */
  readonly workflowRef: string;
  readonly activeAgentId: string;
  readonly agentFile?: string;
  /** Default: the run's id. */
  readonly sessionId?: string;
  /** Default: the project's `artifacts`. */
  readonly outputRoot?: string;
  /** A UUID in lower case; made when absent. The same id again is the same run. */
  readonly runId?: string;
  /** The Temporal workflow that the run belongs to; absent means `run-<runId>`. */
  readonly workflowId?: string;
}

/** What the index will say of a new bundle run. Faults: `E_RUN_NOT_FOUND` (a session id that is none), `E_PACKAGE_NOT_FOUND`, `E_INTERNAL`. */
export async function newBundleRun(
  request: CreateBundleRunRequest,
  runId: string,
  project: Project,
  now: Date,
): Promise<Result<RunMetadata>> {
  const sessionId = request.sessionId ?? runId;
  const problem = sessionIdProblem(sessionId);
  if (problem !== undefined) return fail("E_RUN_NOT_FOUND", problem);
  const roots = await resolveBundleRoots(request);
  if (!roots.ok) return roots;
  const { workflowPath, workflowRef, activeAgentId, agentFile } = request;
  return ok({
    runId,
    ...(request.workflowId === undefined ? {} : { workflowId: request.workflowId }),
    projectId: project.projectId,
    packageId: `bundle:${basename(roots.value.bundleRoot)}`,
    workflowRef,
    activeAgentId,
    phase: "idle",
    createdAt: now.toISOString(),
    lastUpdatedAt: now.toISOString(),
    bundle: {
      ...roots.value,
      workflowPath,
      sessionId,
      outputRoot: resolve(request.outputRoot ?? join(project.root, "artifacts")),
      ...(agentFile === undefined ? {} : { agentFile: resolve(agentFile) }),
    },
  });
}

/** Names a folder in the user's project, on every file system. */
const SESSION_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;
const SESSION_ID_SENTENCE =
  "A session id names a folder: letters, digits, dots, dashes and underscores, 128 at most, beginning with a letter or a digit and not ending with a dot.";

/** Why a session cannot be called so, as a sentence. */
export function sessionIdProblem(sessionId: string): string | undefined {
  return SESSION_ID.test(sessionId) ? undefined : SESSION_ID_SENTENCE;
}

async function resolveBundleRoots(
  request: CreateBundleRunRequest,
): Promise<Result<Pick<BundleSettings, "bundleRoot" | "coreRoot">>> {
  const bundleRoot = await realDirectory(request.bundleRoot, "bundle");
  if (!bundleRoot.ok) return bundleRoot;
  if (request.coreRoot === undefined) return ok({ bundleRoot: bundleRoot.value });
  const coreRoot = await realDirectory(request.coreRoot, "core");
  if (!coreRoot.ok) return coreRoot;
  return ok({ bundleRoot: bundleRoot.value, coreRoot: coreRoot.value });
}

async function realDirectory(path: string, root: "bundle" | "core"): Promise<Result<string>> {
  const none = fail("E_PACKAGE_NOT_FOUND", `The ${root} root "${path}" is no directory.`);
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? ok(real) : none;
  } catch (error) {
    return unreadFault(path, requireSystemCode(error)) ?? none;
  }
}
