import { type Result, fail, ok } from "../errors.js";
import { utf8Length } from "../text.js";

/** The only places a model may name in a graph run (contracts §1). */
const MOUNTS = ["project", "pkg", "state"] as const;
export type MountName = (typeof MOUNTS)[number];

/** The only places a model may name in a bundle run: `{bundle-root}` and so on (contracts §13). */
export const PATH_VARIABLES = ["bundle-root", "core-root", "project-root", "session-folder"] as const;
export type PathVariable = (typeof PATH_VARIABLES)[number];

/** A path on a mount, taken apart once: every later rule looks at the segments, never at the text. */
export interface AliasPath {
  readonly mount: MountName | PathVariable;
  /** Names below the mount's root; none is empty, `.` or `..`. */
  readonly segments: readonly string[];
}

/** The longest path that a tool takes, with its mount. */
export const MAX_PATH_BYTES = 4096;
const MAX_SEGMENT_BYTES = 255;
const MAX_SEGMENTS = 255;

/**
 * Reads `@mount` or `@mount/relative` (contracts §7). Names are taken as they are: nothing is decoded,
 * normalised, trimmed or expanded, so `%2e%2e`, `~` and a trailing space are ordinary names, and so is a
 * backslash. Empty and `.` segments are dropped.
 *
 * Faults: `E_SANDBOX_VIOLATION` for an unknown mount, an absolute path, a NUL byte or a `..` segment;
 * `TOOL_ARGS_INVALID` for what no file system could hold. No fault repeats the path: it may be a host path.
 */
export function parseAliasPath(path: string): Result<AliasPath & { readonly mount: MountName }> {
  const [head = "", ...rest] = path.split("/");
  const mount = MOUNTS.find((name) => head === `@${name}`);
  if (mount === undefined) {
    return fail(
      "E_SANDBOX_VIOLATION",
      "The path is on no mount: paths begin with @project/, @pkg/ or @state/. Absolute paths do not exist here.",
    );
  }
  if (path.includes("\0")) return fail("E_SANDBOX_VIOLATION", "The path contains a NUL byte.");
  if (rest.includes("..")) return fail("E_SANDBOX_VIOLATION", "The path contains a .. segment.");
  const problem = pathSizeProblem(path, rest);
  if (problem !== undefined) return fail("TOOL_ARGS_INVALID", problem);
  return ok({ mount, segments: rest.filter((segment) => segment !== "" && segment !== ".") });
}

/** The one spelling of a path below the project: `./a` and `a` are one file. What is no such path stays as it is. */
export function plainProjectPath(path: string): string {
  const parsed = parseAliasPath(`@project/${path}`);
  return (parsed.ok && parsed.value.segments.join("/")) || path;
}

/** Why no file system could hold a path; undefined when one could. */
export function pathSizeProblem(path: string, segments: readonly string[]): string | undefined {
  if (/\p{Surrogate}/u.test(path)) return "The path is not valid Unicode: it holds half a surrogate pair.";
  if (utf8Length(path) > MAX_PATH_BYTES) return `The path is longer than ${MAX_PATH_BYTES} bytes.`;
  if (segments.some((segment) => utf8Length(segment) > MAX_SEGMENT_BYTES)) {
    return `A name in the path is longer than ${MAX_SEGMENT_BYTES} bytes.`;
  }
  const depth = segments.filter((segment) => segment !== "" && segment !== ".").length;
  return depth > MAX_SEGMENTS ? `The path is deeper than ${MAX_SEGMENTS} directories.` : undefined;
}

/** The one spelling of a path: `@state/workflow.md`, `{bundle-root}/config.yaml`, or the mount for its root. */
export function formatAliasPath(path: AliasPath): string {
  return [mountLabel(path.mount), ...path.segments].join("/");
}

/** How a mount is written: `@project`, `{bundle-root}`. */
export function mountLabel(mount: AliasPath["mount"]): string {
  return PATH_VARIABLES.some((variable) => variable === mount) ? `{${mount}}` : `@${mount}`;
}

/**
 * How a message names a path: whole when short, else its mount, first and last name. Messages stay bounded,
 * and a path that a model glued together from a mount and a guessed host path is not repeated.
 */
export function describeAliasPath(path: AliasPath): string {
  const { mount, segments } = path;
  if (segments.length <= 2) return formatAliasPath(path);
  return `${mountLabel(mount)}/${segments[0]}/…/${segments.at(-1)}`;
}

/** Whether the path is the state document, however it was spelled (contracts §5). */
export function isStateDocument(path: AliasPath): boolean {
  return path.mount === "state" && path.segments.length === 1 && path.segments[0] === "workflow.md";
}
