import { createHash } from "node:crypto";
import { join } from "node:path";
import type { JsonAnswers, StoredArtifact } from "../contract/reads.js";
import { type Result, fail, ok } from "../core/errors.js";
import { excerpt } from "../core/text.js";
import { type AliasPath, parseAliasPath } from "../core/tools/alias-path.js";
import { sha256 } from "../store/disk/sha256.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { RunMetadata } from "../store/runs/run-metadata.js";
import type { Store } from "../store/store.js";
import { openPinnedFile } from "../tools/sandbox/pinned-entry.js";
import { type ResolvedEntry, resolveExisting } from "../tools/sandbox/resolve.js";
import { runOnPath } from "../tools/sandbox/run-on-path.js";
import { Refusal } from "../tools/sandbox/faults.js";
import { type Workspace, openWorkspace } from "../tools/sandbox/workspace.js";
import type { Answer } from "./answer-pages.js";
import { PROJECT, recordedArtifacts, recordedPath } from "./recorded-artifacts.js";
import { openRun } from "./run-facts.js";

export interface ArtifactDeps {
  readonly store: Store;
}

/** Larger files are listed without their hash. */
const MAX_HASHED_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** What a run has recorded as its results, and how it lies there now. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL`. */
export async function artifactsOf(
  deps: ArtifactDeps,
  id: string,
): Promise<Result<JsonAnswers["read.artifacts"]>> {
  const opened = await openRun(deps.store, id);
  if (!opened.ok) return opened;
  const { run, files } = opened.value;
  const recorded = await recordedArtifacts(run, files);
  if (!recorded.ok) return recorded;
  const place = openPlace(deps, run, files, await rootOf(deps.store, run));
  const artifacts: StoredArtifact[] = [];
  for (const [path, nodeId] of recorded.value) {
    artifacts.push({ path, nodeId, ...(await measure(place, path)) });
  }
  return ok({ artifacts });
}

/**
 * One artifact's bytes. Only what the run has recorded is handed out, from a root that is permitted now, and no link in the file's
 * place is followed. Faults: `E_RUN_NOT_FOUND`, `ENOENT`, `E_SANDBOX_VIOLATION`.
 */
export async function openArtifact(
  deps: ArtifactDeps,
  asked: { readonly run: string; readonly path: string },
): Promise<Result<Answer>> {
  const opened = await openRun(deps.store, asked.run);
  if (!opened.ok) return opened;
  const { run, files } = opened.value;
  const named = await recordedPath(run, files, asked.path);
  if (!named.ok) return named;
  const path = named.value;
  if (path === undefined) {
    const sentence = `Run ${run.runId} has recorded no artifact "${excerpt(asked.path)}". See: interlock artifacts ${run.runId}`;
    return fail("ENOENT", sentence);
  }
  const place = openPlace(deps, run, files, await rootOf(deps.store, run));
  return place.ok ? openInside(place.value, path) : place;
}

/** Where a run's artifacts lie. */
async function rootOf(store: Store, { bundle, projectId }: RunMetadata): Promise<Result<string>> {
  return bundle === undefined ? store.runs.projectRoot(projectId) : ok(bundle.outputRoot);
}

/** Files below a root that is permitted, and the names between it and the artifacts. */
interface ArtifactPlace {
  readonly workspace: Workspace;
  readonly prefix: readonly string[];
}

function openPlace(
  { store }: ArtifactDeps,
  { bundle }: RunMetadata,
  files: RunFiles,
  root: Result<string>,
): Result<ArtifactPlace> {
  if (!root.ok) return root;
  const permitted = store.roots.permit(root.value, "read", { isReal: bundle === undefined });
  if (!permitted.ok) return permitted;
  const workspace = openWorkspace({
    roots: { project: permitted.value.path, pkg: join(store.dir, "packages"), state: files.stateDir },
    projectIdentity: permitted.value.identity,
    lockDir: store.lockDir,
    keepOut: store.roots.keepOut,
    protectedPaths: store.roots.protectedPaths,
  });
  return ok({ workspace, prefix: bundle === undefined ? [] : [bundle.sessionId] });
}

/** Holds a file of the place for an action. What is a link, or no regular file, is refused. */
async function onFile<T>(
  { workspace, prefix }: ArtifactPlace,
  path: string,
  action: (file: ResolvedEntry) => Promise<T>,
): Promise<Result<T>> {
  const parsed = parseAliasPath([PROJECT.slice(0, -1), ...prefix, path].join("/"));
  if (!parsed.ok) return parsed;
  const { segments } = parsed.value;
  return runOnPath(parsed.value, "read", async () => {
    const file = resolveExisting(workspace, parsed.value);
    try {
      if (file.entry.kind !== "file")
        throw new Refusal("TOOL_ARGS_INVALID", "The artifact is no regular file.");
      refuseLink(workspace, parsed.value, segments, file);
      return await action(file);
    } finally {
      file.entry.close();
    }
  });
}

/** Folders on the way may be links inside the project, as for the tools; the file itself is what the run has put there. */
function refuseLink(
  workspace: Workspace,
  path: AliasPath,
  segments: readonly string[],
  { names }: ResolvedEntry,
): void {
  const parent = resolveExisting(workspace, { ...path, segments: segments.slice(0, -1) });
  parent.entry.close();
  const own = [...parent.names, segments.at(-1)];
  if (own.length === names.length && own.every((name, index) => name === names[index])) return;
  throw new Refusal("E_SANDBOX_VIOLATION", "A link has taken the artifact's place: it is not followed.");
}

async function measure(
  place: Result<ArtifactPlace>,
  path: string,
): Promise<Pick<StoredArtifact, "bytes" | "sha256" | "problem">> {
  const measured = place.ok
    ? await onFile(place.value, path, async ({ entry }) => {
        const bytes = Number(entry.stats.size);
        return { bytes, sha256: bytes > MAX_HASHED_BYTES ? null : await hashOf(place.value, entry) };
      })
    : place;
  return measured.ok ? measured.value : { bytes: null, sha256: null, problem: measured.error.message };
}

async function hashOf({ workspace }: ArtifactPlace, entry: ResolvedEntry["entry"]): Promise<string> {
  const handle = await openPinnedFile(workspace.pins, entry);
  try {
    const hash = createHash("sha256");
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let offset = 0; ;) {
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, offset);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(chunk.subarray(0, bytesRead));
      offset += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

function openInside(place: ArtifactPlace, path: string): Promise<Result<Answer>> {
  return onFile(place, path, async ({ entry }) => {
    const handle = await openPinnedFile(place.workspace.pins, entry);
    const { dev, ino, size, mtimeNs } = entry.stats;
    return {
      size: Number(size),
      version: sha256([dev, ino, size, mtimeNs].join(" ")),
      async slice(offset, length) {
        const bytes = Buffer.alloc(Math.min(length, Math.max(0, Number(size) - offset)));
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset);
        return bytes.subarray(0, bytesRead);
      },
      close: () => handle.close(),
    };
  });
}
