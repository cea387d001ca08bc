import { type ImportFindings, named } from "./findings.js";
import type { SourceGraph } from "./plan-graph.js";
import { type SourceTree, folderOf, nameOf } from "./source-tree.js";

/** Another skill that a step calls and comes back from: what is behind the menu items [A] and [P], for example. */
export interface Call {
  readonly name: string;
  /** The folder of the source that holds it; nothing where it is not at hand. */
  readonly folder?: string;
}

const SKILL_FILES = ["SKILL.md", "workflow.md"];
const NAMED_SKILL = /(?:\bskill:|`)(bmad-[a-z0-9-]{2,60})`?/g;
const MAX_SKILL_FILES = 200;
const MAX_CALLS = 100;

/** The skills that steps name in words, `invoke the … skill`, or as `skill:…`. */
export function callsOf(
  tree: SourceTree,
  { texts, called }: Pick<SourceGraph, "texts" | "called">,
  from: string,
  findings: ImportFindings,
): readonly Call[] {
  const calls = new Map(
    [...called].map((folder): [string, Call] => [nameOf(folder), { name: nameOf(folder), folder }]),
  );
  for (const [path, source] of texts) {
    for (const line of source.body) {
      if (!/\bskill\b/i.test(line.text.slice(0, 2_000))) continue;
      for (const [, name = ""] of line.text.slice(0, 2_000).matchAll(NAMED_SKILL)) {
        if (calls.size >= MAX_CALLS || calls.has(name) || nameOf(folderOf(from)) === name) continue;
        const folder = folderOfSkill(tree, name, from);
        calls.set(name, { name, ...(folder === undefined ? {} : { folder }) });
        if (folder === undefined) {
          findings.add(
            "note",
            path,
            line.number,
            `calls the skill ${named(name)}, which is not at hand: the model is told to do without`,
          );
        }
      }
    }
  }
  return [...calls.values()];
}

function folderOfSkill(tree: SourceTree, name: string, from: string): string | undefined {
  const folders = SKILL_FILES.flatMap((file) => tree.named(file))
    .map(folderOf)
    .filter((folder) => nameOf(folder) === name || `bmad-${nameOf(folder)}` === name);
  const near = (folder: string): number => {
    const names = from.split("/");
    return folder.split("/").findIndex((part, index) => part !== names[index]);
  };
  return [...new Set(folders)].sort((a, b) => near(b) - near(a) || (a < b ? -1 : 1))[0];
}

/** The texts of a skill that are taken along. */
export function filesOfSkill(tree: SourceTree, folder: string): readonly string[] {
  return tree.filesBelow(folder).slice(0, MAX_SKILL_FILES);
}
