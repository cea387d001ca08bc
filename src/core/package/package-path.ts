import { utf8Length } from "../text.js";
import { type Finding, errorFinding, quote } from "./findings.js";

const MAX_PATH_BYTES = 1024;
const MAX_NAME_BYTES = 255;
const MAX_FOLDERS = 64;

/** Why a path inside a package may not be used; undefined when it may (contracts §2). */
export function packagePathProblem(path: string): string | undefined {
  if (path === "") return "is empty";
  if (path.includes("\0")) return "contains a NUL byte";
  if (path.includes("\\")) return "contains a backslash: separate names with /";
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) {
    return "is absolute: paths are relative to the package's root";
  }
  const segments = path.split("/");
  if (segments.includes("..")) return "contains ..: paths stay inside the package";
  // Prompts show paths on lines of their own: a line break in a name could forge one.
  if (/[\p{Cc}\u2028\u2029]/u.test(path)) return "contains a control character or line break";
  if (!path.isWellFormed()) return "is not valid Unicode";
  if (utf8Length(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  if (segments.some((segment) => utf8Length(segment) > MAX_NAME_BYTES)) {
    return `holds a name longer than ${MAX_NAME_BYTES} bytes`;
  }
  if (segments.length > MAX_FOLDERS) return `is deeper than ${MAX_FOLDERS} folders`;
  return undefined;
}

/** The canonical spelling of a package path: no empty and no `.` segments. */
export function normalizePackagePath(path: string): string {
  return path
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".")
    .join("/");
}

/** What version control and operating systems leave in directories: no part of a package, wherever it lies. */
const LITTER = new Set([".git", ".hg", ".svn", ".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX"]);

/** Whether a package path is litter or lies in it. Litter is neither checked, hashed nor installed. */
export function isLitter(path: string): boolean {
  return path.split("/").some((segment) => LITTER.has(segment));
}

/**
 * Refuses names that another file system would take for one: equal but for case or Unicode normalisation,
 * given twice, or a file where others need a folder. Paths are canonical.
 */
export function checkPathCollisions(
  files: readonly string[],
  folders: readonly string[],
): readonly Finding[] {
  const seen = new Map<string, { readonly path: string; readonly isFile: boolean }>();
  const findings: Finding[] = [];
  const claim = (key: string, path: string, isFile: boolean) => {
    const known = seen.get(key);
    if (known === undefined) seen.set(key, { path, isFile });
    else if (known.path !== path) {
      findings.push(
        errorFinding(path, "$", `differs from ${quote(known.path)} only by case or Unicode form: rename one`),
      );
    } else if (known.isFile !== isFile) {
      findings.push(errorFinding(path, "$", "is a file and a folder at once: rename one"));
    } else if (isFile) findings.push(errorFinding(path, "$", "is there twice: remove one"));
  };
  const claimFolders = (keys: readonly string[], names: readonly string[]) => {
    for (let depth = 1; depth <= names.length; depth += 1) {
      claim(keys.slice(0, depth).join("/"), names.slice(0, depth).join("/"), false);
    }
  };
  for (const path of folders) claimFolders(foldPath(path).split("/"), path.split("/"));
  for (const path of files) {
    const key = foldPath(path);
    claimFolders(key.split("/").slice(0, -1), path.split("/").slice(0, -1));
    claim(key, path, true);
  }
  return findings;
}

/** Equal for paths that a case-insensitive or normalising file system would take for one. */
export function foldPath(path: string): string {
  return path.normalize("NFD").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}
