import { type ImportFindings, named } from "./findings.js";
import { type References, folderIn, isBelow, tokensOf } from "./references.js";
import type { SourceText } from "./source-text.js";
import { type SourceTree, isEntryName, nameOf } from "./source-tree.js";

/** More than these, of all folders, are no material of one workflow. */
const MAX_FILES = 300;
const MAX_CHARS = 8 * 1024 * 1024;
/** Each is looked for in the whole tree. */
const MAX_FOLDERS = 200;

interface NamingText {
  readonly path: string;
  readonly source: SourceText;
  readonly references: References;
}

/**
 * "Read all files below `../_shared/leaves/`": what lies in the folders outside of the workflow's own, `folder`, that its texts name. One that
 * holds the workflow's own is only a place, and skills that are `called` come along as such. Where another workflow begins, or very much lies,
 * nothing is taken, which is told.
 */
export function filesInNamedFolders(
  tree: SourceTree,
  folder: string,
  texts: readonly NamingText[],
  called: ReadonlySet<string>,
  findings: ImportFindings,
): readonly string[] {
  const known = new Set(called);
  const found = new Set<string>();
  let room = { files: MAX_FILES, chars: MAX_CHARS };
  return texts.flatMap((text) =>
    foldersIn(text).flatMap(({ path, line }) => {
      if (known.has(path) || known.size >= MAX_FOLDERS + called.size) return [];
      known.add(path);
      if (isBelow(`${path}/`, folder) || isBelow(`${folder}/`, path)) return [];
      const files = tree.filesBelow(path).filter((each) => !found.has(each));
      const name = `names the folder ${named(path)}`;
      const holdsOthers = files.some((each) => isEntryName(nameOf(each)));
      const chars = files.reduce((sum, each) => sum + tree.text(each).length, 0);
      const left = { files: room.files - files.length, chars: room.chars - chars };
      if (!holdsOthers && left.files >= 0 && left.chars >= 0) {
        room = left;
        for (const each of files) found.add(each);
        return files;
      }
      if (holdsOthers)
        findings.add(
          "note",
          text.path,
          line,
          `${name}, in which other workflows begin: it is not taken along`,
        );
      else {
        const what = `${name}, whose ${files.length} files lie outside of the workflow: the package is without them`;
        findings.add("warning", text.path, line, what);
      }
      return [];
    }),
  );
}

function foldersIn({ source, references }: NamingText): readonly { path: string; line: number }[] {
  return source.body.flatMap(({ text, number, isCode }) => {
    if (isCode || !text.includes("/")) return [];
    return tokensOf(text).flatMap((token) => {
      const inside = folderIn(token.text);
      const target = inside && references.resolve(inside.folder);
      return target?.kind === "folder" ? [{ path: target.path, line: number }] : [];
    });
  });
}
