import type { OutputMapping } from "./shells.js";

const MAX_OUTPUTS = 50;
const MAX_PATH_CHARS = 300;

/** A file to write: where, and the declaration it comes from. */
export interface OutputTarget {
  readonly declared: string;
  readonly path: string;
}

export interface OutputPlan {
  readonly targets: readonly OutputTarget[];
  /** Declarations that are not file paths, or are too many: nothing is written for them, and the text says so. */
  readonly leftOut: readonly string[];
}

/**
 * The files a node is to write: what the brief maps, and what only the step declares. The alias of the brief is
 * authoritative. The state document is no output to write: its patch is how a node saves it.
 */
export function planOutputs(mapped: readonly OutputMapping[], declared: readonly string[]): OutputPlan {
  const known = new Set(mapped.flatMap((mapping) => [mapping.declared, mapping.path]));
  const isKnown = (output: string): boolean =>
    known.has(output) || mapped.some((mapping) => mapping.path.endsWith(`/${output}`));
  const extra = declared.filter((output) => !isKnown(output));
  const wanted = [
    ...mapped,
    ...extra.filter(looksLikePath).map((output) => ({ declared: output, path: aliasOf(output) })),
  ];
  const files = wanted.map((output) => ({ declared: output.declared, path: fileOf(output.path) }));
  const targets = [...new Map(files.map((file) => [file.path, file])).values()].filter(
    (file) => !isStateDocument(file.path),
  );
  const leftOut = [
    ...extra.filter((output) => !looksLikePath(output)),
    ...targets.slice(MAX_OUTPUTS).map((target) => target.declared),
  ];
  return { targets: targets.slice(0, MAX_OUTPUTS), leftOut };
}

/** Inputs worth a look: one file each, on a mount or relative to the project. */
export function inputPaths(inputs: readonly string[], skip: readonly string[]): string[] {
  const files = inputs.filter((input) => looksLikePath(input) && !/[*?{}<>]|\/$/.test(input)).map(aliasOf);
  return [...new Set(files)].filter((path) => !skip.includes(path));
}

function looksLikePath(text: string): boolean {
  if (text.length > MAX_PATH_CHARS || /\p{C}/u.test(text)) return false;
  return text.includes("/") || /^\S*\.[A-Za-z0-9]{1,10}$/.test(text);
}

/** A relative path belongs to the project; what starts like an alias or is absolute is for the runtime to judge. */
function aliasOf(path: string): string {
  if (/^(?:@|\/|[A-Za-z]:)/.test(path)) return path;
  return `@project/${path.replace(/^(?:\.\/)+/, "")}`;
}

/** A directory gets a README.md; a pattern or a template becomes a name that says where it comes from. */
function fileOf(path: string): string {
  const named = path.replace(/\*+|\$?\{+[^/{}]*\}+|<[^/<>]*>/g, "rehearsal");
  return named.endsWith("/") ? `${named}README.md` : named;
}

function isStateDocument(path: string): boolean {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return segments.join("/") === "@state/workflow.md";
}
