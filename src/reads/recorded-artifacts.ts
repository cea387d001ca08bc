import { type Result, ok } from "../core/errors.js";
import { unlessUnreadNow } from "../core/system-code.js";
import { plainProjectPath } from "../core/tools/alias-path.js";
import { sessionDir, standingManifest } from "../store/runs/bundle-session.js";
import { allArtifacts } from "../store/runs/earlier-files.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { RunMetadata } from "../store/runs/run-metadata.js";
import { auditEvents } from "./audit-events.js";

/**
 * The paths that a run has recorded, each with the node that wrote it last, where the log tells. Fault: `E_INTERNAL` where it cannot be read
 * now; throws what the system says of the run's own files.
 */
export async function recordedArtifacts(
  { bundle, runId }: RunMetadata,
  files: RunFiles,
): Promise<Result<ReadonlyMap<string, string | null>>> {
  if (bundle === undefined) {
    const listed = (await listedArtifacts(files)).map((path) => [plainProjectPath(path), null] as const);
    return ok(new Map([...listed, ...(await writtenIn(files))]));
  }
  const manifest = await standingManifest(sessionDir(bundle));
  if (!manifest.ok) return manifest;
  const saved = manifest.value?.runId === runId ? manifest.value.files : [];
  return ok(new Map(saved.map(({ path }) => [path, null])));
}

/** What was written, each with the node that wrote it last, as the log tells. */
async function writtenIn(files: RunFiles): Promise<ReadonlyMap<string, string | null>> {
  const written = new Map<string, string | null>();
  for (const { kind, nodeId, output } of await auditEvents(files)) {
    if (kind !== "tool.exec" || typeof output !== "object" || output === null) continue;
    if (!("sha256After" in output) || !("path" in output)) continue; // it has not written
    const { path } = output;
    if (typeof path !== "string" || !path.startsWith(PROJECT)) continue;
    written.set(path.slice(PROJECT.length), typeof nodeId === "string" ? nodeId : null);
  }
  return written;
}

export const PROJECT = "@project/";

/** The artifacts that were there before the run, and that it has written: its document does not list them (contracts §10). */
export async function artifactsWrittenAgain(run: RunMetadata, files: RunFiles): Promise<readonly string[]> {
  if (run.bundle !== undefined || run.phase === "running") return []; // while it runs nobody lists them
  const listed = new Set((await listedArtifacts(files)).map(plainProjectPath));
  return [...(await writtenIn(files)).keys()]
    .filter((path) => path.startsWith(ARTIFACTS) && !listed.has(path))
    .slice(0, MAX_WRITTEN_AGAIN);
}

/** Those of the state document, as far as it and what it goes back to can be read. */
async function listedArtifacts(files: RunFiles): Promise<readonly string[]> {
  const document = await files.state.read().catch(unlessUnreadNow(undefined));
  if (document?.ok !== true) return [];
  const { frontmatter } = document.value;
  const all = allArtifacts(files.stateDir, frontmatter);
  return all.ok ? all.value : frontmatter.artifacts;
}

/** The path of an artifact that is asked for by it, or as the document spells it; undefined for what is none. Fault: as {@link recordedArtifacts}. */
export async function recordedPath(
  run: RunMetadata,
  files: RunFiles,
  asked: string,
): Promise<Result<string | undefined>> {
  const recorded = await recordedArtifacts(run, files);
  if (!recorded.ok) return recorded;
  if (recorded.value.has(asked)) return ok(asked);
  const isListed = run.bundle === undefined && (await listedArtifacts(files)).includes(asked);
  return ok(isListed ? plainProjectPath(asked) : undefined);
}

const ARTIFACTS = "artifacts/";
const MAX_WRITTEN_AGAIN = 200;
