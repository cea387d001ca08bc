import { listSome } from "../../text.js";
import type { ImportFindings } from "./findings.js";
import { isBelow } from "./references.js";
import { type LeftOut, type SourceTree, folderOf, nameOf, isEntryName } from "./source-tree.js";

const UNREAD = "is no UTF-8 text of at most 1 MiB: it was not read";
const DENIED = "cannot be opened: check its permissions";
/** What is said of a file that a workflow would begin with. */
export const UNREAD_ENTRY =
  "was not read: it is no UTF-8 text of at most 1 MiB, or its permissions are against it";

/** Says which files of a workflow's folder its package does not have: each step that could not be read, and what else there is. */
export function reportLeftOut(
  tree: SourceTree,
  entry: { readonly path: string; readonly document: string },
  findings: ImportFindings,
): void {
  const folder = folderOf(entry.document);
  const below = [...tree.leftOut].filter(([path]) => isBelow(path, folder));
  const isPage = ([path, why]: readonly [string, LeftOut]): boolean =>
    why === "denied" || (why === "unread" && path.endsWith(".md"));
  for (const [path, why] of below.filter(isPage))
    findings.add("warning", path, 0, why === "denied" ? DENIED : UNREAD);
  const others = below.filter((each) => !isPage(each));
  const tell = (reason: LeftOut, what: string): void => {
    const paths = others.filter(([, why]) => why === reason);
    if (paths.length === 0) return;
    const own = paths.map(([path]) => path.slice(folder === "" ? 0 : folder.length + 1));
    findings.add("note", entry.path, 0, `the package is without ${listSome(own, 8)}: ${what}`);
  };
  tell("unread", "no UTF-8 text of at most 1 MiB");
  tell("no text", "of a kind that is not read");
  tell("link", "links are not followed");
}

/** Why nothing is at a path that a step names. */
export function whyAbsent(tree: SourceTree, path: string): string {
  const isThere = [...ancestorsOf(path)].some((each) => tree.leftOut.has(each));
  return isThere ? "was not read" : "does not exist";
}

/** A path, and the folders that it lies in. */
function* ancestorsOf(path: string): Generator<string> {
  for (let at = path; at !== ""; at = folderOf(at)) yield at;
}

/** What a tree would have, if it could be read: no UTF-8, too large, or not ours to open. */
export function unreadPaths(tree: SourceTree): readonly string[] {
  return [...tree.leftOut].filter(([, why]) => why === "unread" || why === "denied").map(([path]) => path);
}

/** The files that a workflow would begin with, if they could be read. */
export function unreadEntries(tree: SourceTree): readonly string[] {
  return unreadPaths(tree)
    .filter((path) => isEntryName(nameOf(path)))
    .sort();
}
