import { type ImportFindings, named } from "./findings.js";
import { type References, folderIn, isBelow, tokensOf } from "./references.js";
import type { SourceText } from "./source-text.js";
import { type SourceTree, isEntryName, nameOf } from "./source-tree.js";

/** More than these in a folder are no material of one workflow. */
const MAX_FILES = 300;
/** Of one text: each is looked for in the whole tree. */
const MAX_FOLDERS = 50;

/**
 * "Read all files below `../_shared/leaves/`": what lies in the folders outside of the workflow's own, `folder`, that a text of it names. One that
 * holds the workflow's own is only a place, and skills that are `called` come along as such. Where another workflow begins, or very much lies,
 * nothing is taken, which is told.
 */
export function filesInNamedFolders(
  tree: SourceTree,
  folder: string,
  text: { readonly path: string; readonly source: SourceText; readonly references: References },
  called: ReadonlySet<string>,
  findings: ImportFindings,
): readonly string[] {
  const { path, source, references } = text;
  const files: string[] = [];
  const known = new Set<string>();
  for (const { text: line, number, isCode } of source.body) {
    if (isCode || !line.includes("/")) continue;
    for (const { text: token } of tokensOf(line)) {
      const target = references.resolve(folderIn(token)?.folder ?? "");
      if (target.kind !== "folder" || known.has(target.path) || known.size === MAX_FOLDERS) continue;
      known.add(target.path);
      if (called.has(target.path)) continue;
      if (isBelow(`${target.path}/`, folder) || isBelow(`${folder}/`, target.path)) continue;
      const found = tree.filesBelow(target.path);
      const name = `names the folder ${named(target.path)}`;
      if (found.some((each) => isEntryName(nameOf(each))))
        findings.add("note", path, number, `${name}, in which other workflows begin: it is not taken along`);
      else if (found.length > MAX_FILES) {
        const what = `${name}, whose ${found.length} files lie outside of the workflow: the package is without them`;
        findings.add("warning", path, number, what);
      } else files.push(...found);
    }
  }
  return files;
}
