import type { Fault } from "../errors.js";
import { jsonEscaped, printable } from "../printable.js";
import { asWritten } from "./stand-in-id.js";

/** What is wrong, or odd, in a package: where exactly, and in a sentence that says the remedy. */
export interface Finding {
  readonly severity: "error" | "warning";
  /** Package-relative file; `.` for the package as a whole. */
  readonly file: string;
  /** JSON path inside the file, such as `$.nodes[2].agentId`; `$` for the file as a whole. */
  readonly path: string;
  /** 1-based line of that place in the file, where there is one. */
  readonly line?: number;
  readonly message: string;
}

/** What a check gives: its findings, and the value where the file's shape allows one. */
export interface Checked<T> {
  readonly value?: T;
  readonly findings: readonly Finding[];
  /** Something is left out, or stands in, for what was refused: what only looks odd may come of that. */
  readonly isMended?: boolean;
}

/** The package as a whole, where a finding concerns no single file. */
export const WHOLE_PACKAGE = ".";

/** A report never holds more: a hostile package has findings without end. */
export const MAX_FINDINGS = 100;

const MAX_MESSAGE_CHARS = 600;
const MAX_PLACE_CHARS = 300;

export function errorFinding(file: string, path: string, message: string): Finding {
  return finding("error", file, path, message);
}

/** A file that cannot be parsed, with the line that its fault names. */
export function faultFinding(file: string, { message, details = {} }: Fault): Finding {
  const { line } = details;
  return { ...errorFinding(file, "$", message), ...(typeof line === "number" ? { line } : {}) };
}

export function warningFinding(file: string, path: string, message: string): Finding {
  return finding("warning", file, path, message);
}

function finding(severity: Finding["severity"], file: string, path: string, message: string): Finding {
  return {
    severity,
    file: cut(jsonEscaped(file), MAX_PLACE_CHARS),
    path: cut(jsonEscaped(path), MAX_PLACE_CHARS),
    message: cut(jsonEscaped(message), MAX_MESSAGE_CHARS),
  };
}

export function isError(finding: Finding): boolean {
  return finding.severity === "error";
}

/** A bounded report: each finding once, errors first, and a line that says how many were left out. */
export function boundFindings(findings: readonly Finding[]): readonly Finding[] {
  const unique = new Map<string, Finding>();
  for (const item of findings) unique.set(JSON.stringify([item.file, item.path, item.message]), item);
  const errors = [...unique.values()].filter(isError);
  const warnings = [...unique.values()].filter((item) => !isError(item));
  const ordered = [...errors, ...warnings];
  if (ordered.length <= MAX_FINDINGS) return ordered;
  const shown = ordered.slice(0, MAX_FINDINGS - 1);
  const severity = errors.length >= MAX_FINDINGS ? "error" : "warning";
  const rest = `and ${ordered.length - shown.length} more findings: mend these first`;
  return [...shown, finding(severity, WHOLE_PACKAGE, "$", rest)];
}

/** Renders `["nodes", 2, "agentId"]` as `$.nodes[2].agentId`. */
export function jsonPath(segments: readonly PropertyKey[]): string {
  let path = "$";
  for (const segment of segments) {
    if (typeof segment === "number") path += `[${segment}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(String(segment))) path += `.${String(segment)}`;
    else path += `[${JSON.stringify(String(segment))}]`;
  }
  return path;
}

/** The keys and indexes of what `jsonPath` rendered, as far as they can be read back. */
export function placeOf(path: string): readonly string[] {
  const place: string[] = [];
  for (const [, name, index, quoted] of path.matchAll(/\.([\w$]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gu)) {
    place.push(name ?? index ?? unquoted(quoted ?? ""));
  }
  return place;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Where a finding is, for people: the file, with the line where there is one. */
export function whereOf({ file, line }: Finding): string {
  return line === undefined ? file : `${file}:${line}`;
}

const MAX_QUOTE_CHARS = 120;
const MAX_LISTED = 10;

/** A name from a package as a message shows it: quoted, on one line, printable, of bounded length. */
export function quote(name: string): string {
  return jsonEscaped(JSON.stringify(cut(asWritten(name), MAX_QUOTE_CHARS)));
}

/** The names a message offers instead of a wrong one: the first few. */
export function listNames(names: readonly string[] | ReadonlySet<string>): string {
  const count = "size" in names ? names.size : names.length;
  const shown: string[] = [];
  for (const name of names) {
    if (shown.length === MAX_LISTED) break;
    shown.push(printable(cut(asWritten(name), MAX_QUOTE_CHARS)));
  }
  if (count > shown.length) shown.push(`and ${count - shown.length} more`);
  return shown.length === 0 ? "none" : shown.join(", ");
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars).toWellFormed()}…`;
}
