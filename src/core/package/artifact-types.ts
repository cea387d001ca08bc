import type { ArtifactType } from "../graph-state/schemas.js";
import { jsonBytes } from "../json.js";
import { parseAliasPath } from "../tools/alias-path.js";
import { type Finding, errorFinding, jsonPath } from "./findings.js";
import type { StepFrontmatter } from "./schemas.js";

/** Which artifact of a story a file of the project is. */
export interface ArtifactTypeOfPath {
  /** Relative to the project, in the one spelling that tools answer with. */
  readonly path: string;
  readonly type: ArtifactType;
}

/** What is told of a call is cut to this: a longer path would never be recognised. */
export const MAX_ARTIFACT_PATH_CHARS = 1_000;

/** The most that one graph may declare, as JSON: it enters a run's history, once. */
export const MAX_ARTIFACT_TYPES_BYTES = 32 * 1024;

/** What a step declares, in one spelling each; what names no file of the project is left to `checkArtifactTypes`. */
export function artifactTypesOf(step: StepFrontmatter | undefined): readonly ArtifactTypeOfPath[] {
  return Object.entries(step?.artifactTypes ?? {}).flatMap(([path, type]) => {
    const file = projectFile(path);
    return file === undefined ? [] : [{ path: file, type }];
  });
}

/** Paths that no write could ever have, and files that are declared twice. */
export function checkArtifactTypes(file: string, step: StepFrontmatter): readonly Finding[] {
  const seen = new Set<string>();
  return Object.keys(step.artifactTypes ?? {}).flatMap((path) => {
    const known = projectFile(path);
    const problem =
      known === undefined
        ? "is no path of a file in the project: write it like artifacts/story.md"
        : seen.has(known) && "is the same file as an earlier one: declare it once";
    if (known !== undefined) seen.add(known);
    return problem ? [errorFinding(file, jsonPath(["artifactTypes", path]), problem)] : [];
  });
}

export function checkArtifactTypesSize(file: string, steps: Iterable<StepFrontmatter>): readonly Finding[] {
  let bytes = 0;
  for (const step of steps) bytes += jsonBytes(step.artifactTypes ?? {});
  if (bytes <= MAX_ARTIFACT_TYPES_BYTES) return [];
  const sentence = `the artifactTypes of its steps have more than ${MAX_ARTIFACT_TYPES_BYTES} bytes together: declare fewer`;
  return [errorFinding(file, "$.nodes", sentence)];
}

/** `./a/b` and `@project/a/b` as `a/b`: how artifacts are named. Undefined for what is no file of a project. */
export function projectFile(path: string): string | undefined {
  if (path.startsWith("/") || path.length > MAX_ARTIFACT_PATH_CHARS) return undefined;
  const parsed = parseAliasPath(path.startsWith("@") ? path : `@project/${path}`);
  if (!parsed.ok || parsed.value.mount !== "project" || path.endsWith("/")) return undefined;
  return parsed.value.segments.join("/") || undefined;
}
