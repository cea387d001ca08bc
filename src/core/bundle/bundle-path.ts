import { type Failed, type Result, fail, ok } from "../errors.js";
import { excerpt, listSome } from "../text.js";
import {
  PATH_VARIABLES,
  type AliasPath,
  type PathVariable,
  mountLabel,
  pathSizeProblem,
} from "../tools/alias-path.js";

/** A path of a bundle run, taken apart: `{bundle-root}/workflows/intake/workflow.yaml`. */
export interface BundlePath extends AliasPath {
  readonly mount: PathVariable;
}

/** What paths of one run mean beyond the four variables. */
export interface BundleLayout {
  /** The names under which an installation would hold this bundle: its directory's, and the one it declares. */
  readonly bundleNames: readonly string[];
  readonly hasCore: boolean;
  /** Undefined where nothing runs, as when a bundle is checked. */
  readonly sessionId?: string;
}

/** What a path without a variable is relative to. */
export type PathBase = Pick<BundlePath, "mount" | "segments">;

export const SESSION_BASE: PathBase = { mount: "session-folder", segments: [] };
export const BUNDLE_BASE: PathBase = { mount: "bundle-root", segments: [] };

/** Where the installers of the format put modules; `{project-root}/bmad/<module>/…` in files of theirs. */
const INSTALL_DIRECTORIES: readonly string[] = ["bmad", "_bmad", ".bmad"];

/** The folder of one session in instructions written for another runtime; there it was an absolute path. */
const OLD_SESSION_PREFIX = ["data", "agent-outputs"] as const;

/**
 * Reads a path of a tool call or a bundle's file (contracts §13). One pass: a variable stands at the beginning, and what
 * it leads to is not read again. Names are taken as they are: nothing is decoded, trimmed or expanded.
 *
 * Two spellings are aliases: `/data/agent-outputs/<this session>/x` for the session folder, and
 * `{project-root}/bmad/<module>/x` (also `_bmad`, `.bmad`, `bmad/custom/bundles/<name>`, and without the variable) for
 * the bundle root or the core root where the module is that one: bundles name their own files so, wherever they lie.
 *
 * Faults: `E_SANDBOX_VIOLATION` for `..`, a NUL byte, a backslash, an absolute path, another session and an unknown
 * variable, with those that exist; `TOOL_ARGS_INVALID` for what no file system could hold.
 */
export function parseBundlePath(
  text: string,
  layout: BundleLayout,
  base: PathBase = SESSION_BASE,
): Result<BundlePath> {
  const parts = installed(text).split("/");
  const refused = refusedText(text, parts);
  if (refused !== undefined) return refused;
  const [head = "", ...rest] = parts;
  if (head === "" && rest.length > 0) return oldSessionPath(names(rest), layout);
  if (/^[A-Za-z]:$/.test(head)) return refuse(NO_ABSOLUTE);
  const variable = /^\{([^{}]*)\}$/.exec(head)?.[1];
  const mount = variable === undefined ? undefined : pathVariable(variable);
  const segments = names(variable === undefined ? parts : rest);
  const foreign = variable !== undefined && mount === undefined ? head : placeholderIn(segments);
  if (foreign !== undefined) return unknownVariable(foreign);
  if (mount === undefined) {
    const installed = installedPath(segments, layout);
    if (installed !== undefined) return ok(installed);
    return ok({ mount: base.mount, segments: [...base.segments, ...segments] });
  }
  if (mount !== "project-root") return ok({ mount, segments });
  if (isOldSession(segments, layout)) return oldSessionPath(segments, layout);
  return ok(installedPath(segments, layout) ?? { mount, segments });
}

/** What is no path, wherever it would lead. */
function refusedText(text: string, parts: readonly string[]): Failed | undefined {
  if (text.includes("\0")) return refuse("The path contains a NUL byte.");
  if (text.includes("\\")) return refuse("The path contains a backslash: names are separated by /.");
  if (parts.includes("..")) return refuse("The path contains a .. segment.");
  const problem = pathSizeProblem(text, parts);
  return problem === undefined ? undefined : fail("TOOL_ARGS_INVALID", problem);
}

/** A text with the folder of an installation by its name, which a module's source has as `{bmad_folder}` before it is installed. */
export function installed(text: string): string {
  return text.replaceAll(/\{(?:bmad_folder|_bmad)\}(?=\/|$)/g, "bmad");
}

/** The variable of that name, also in its underscore spelling; undefined when there is none. */
export function pathVariable(name: string): PathVariable | undefined {
  const hyphenated = name.replaceAll("_", "-");
  return PATH_VARIABLES.find((variable) => variable === hyphenated);
}

const NO_ABSOLUTE = `Absolute paths do not exist here: paths begin with ${listOfVariables()}.`;

function listOfVariables(): string {
  return listSome(PATH_VARIABLES.map(mountLabel));
}

/** A brace in a name is a placeholder that somebody forgot to fill in. */
function placeholderIn(segments: readonly string[]): string | undefined {
  for (const segment of segments) {
    const found = /\{\{[^{}]*\}{0,2}|\{[^{}]*\}?/.exec(segment)?.[0];
    if (found !== undefined) return found;
  }
  return undefined;
}

function unknownVariable(text: string): Failed {
  const isMustache = text.startsWith("{{");
  const isMisplaced = pathVariable(text.replace(/^\{|\}$/g, "")) !== undefined;
  const what = isMisplaced ? "must stand alone at the beginning of the path" : "is no path variable";
  const hint = isMustache || !isMisplaced ? " Fill in every other placeholder yourself." : "";
  return refuse(`${excerpt(text, 60)} ${what}. There are: ${listOfVariables()}.${hint}`);
}

function names(segments: readonly string[]): string[] {
  return segments.filter((segment) => segment !== "" && segment !== ".");
}

/** `bmad/<module>/rest`, where the module is the bundle or the core. */
function installedPath(segments: readonly string[], layout: BundleLayout): BundlePath | undefined {
  const [first = "", second, third, fourth] = segments;
  if (!INSTALL_DIRECTORIES.includes(first) || second === undefined) return undefined;
  if (second === "custom" && third === "bundles" && fourth !== undefined) {
    if (!layout.bundleNames.includes(fourth)) return undefined;
    return { mount: "bundle-root", segments: segments.slice(4) };
  }
  if (layout.bundleNames.includes(second)) return { mount: "bundle-root", segments: segments.slice(2) };
  if (second === "core" && layout.hasCore) return { mount: "core-root", segments: segments.slice(2) };
  return undefined;
}

function isOldSession(segments: readonly string[], layout: BundleLayout): boolean {
  return (
    OLD_SESSION_PREFIX.every((name, index) => segments[index] === name) &&
    layout.sessionId !== undefined &&
    segments[OLD_SESSION_PREFIX.length] === layout.sessionId
  );
}

function oldSessionPath(segments: readonly string[], layout: BundleLayout): Result<BundlePath> {
  if (!isOldSession(segments, layout)) return refuse(NO_ABSOLUTE);
  const rest = segments.slice(OLD_SESSION_PREFIX.length + 1);
  const foreign = placeholderIn(rest);
  if (foreign !== undefined) return unknownVariable(foreign);
  return ok({ mount: "session-folder", segments: rest });
}

function refuse(message: string): Failed {
  return fail("E_SANDBOX_VIOLATION", message);
}
