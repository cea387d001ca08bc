import { relative, sep } from "node:path";
import { formatAliasPath } from "../../core/tools/alias-path.js";
import { readManifest, sessionDir } from "../../store/runs/bundle-session.js";
import type { RunMetadata } from "../../store/runs/run-metadata.js";

const MAX_RUNS = 20;
const MAX_FILES = 30;

/**
 * What completed bundle runs of a project have saved within it, in variable form, newest run first; of files of one name the newest.
 * `projectRoot` is a real path. A session that is gone or cannot be read is left out.
 */
export async function earlierOutputs(
  projectRoot: string,
  runs: readonly RunMetadata[],
): Promise<readonly string[]> {
  const sessions = runs
    .flatMap(({ phase, bundle }) => (phase === "completed" && bundle !== undefined ? [bundle] : []))
    .slice(-MAX_RUNS)
    .toReversed();
  const found = new Map<string, string>();
  for (const session of sessions) {
    const dir = sessionDir(session);
    const segments = relative(projectRoot, dir).split(sep);
    if (segments.includes("..") || segments.some((name) => name.startsWith("."))) continue;
    const manifest = await readManifest(dir);
    if (!manifest.ok) continue;
    for (const { path } of manifest.value.files) {
      const names = [...segments, ...path.split("/")];
      if (!found.has(path)) found.set(path, formatAliasPath({ mount: "project-root", segments: names }));
    }
  }
  return [...found.values()].slice(0, MAX_FILES);
}
