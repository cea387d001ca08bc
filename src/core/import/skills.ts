import { isDenied } from "./words/denials.js";
import { type ImportFindings, named } from "./source/findings.js";
import type { SourceGraph } from "./ways/plan-graph.js";
import { type SourceTree, folderOf, nameOf } from "./source/source-tree.js";

/** Another skill that a step calls and comes back from: what is behind the menu items [A] and [P], for example. */
export interface Call {
  readonly name: string;
  /** The folder of the source that holds it; nothing where it is not at hand. */
  readonly folder?: string;
}

const SKILL_FILES = ["SKILL.md", "workflow.md"];
/** No pattern of names, such as `bmad-agent-*`. */
const NAMED_SKILL = /(?:\bskill:|`)(bmad-[a-z0-9-]{1,59}[a-z0-9])(?![a-z0-9*{<-])/g;
const MARK = "(?:`|\\*\\*|\"|')";
const SKILL_NAME = "(?:[\\w-]{1,60}:)?([a-z0-9][a-z0-9-]{1,60})";
/** "Invoke the `taste` skill", "use the skill `tea:taste`" */
const CALLED_SKILL = new RegExp(
  String.raw`${MARK}${SKILL_NAME}${MARK}\s{1,2}(?:sub-?)?skill\b|\bskill\s{0,2}:?\s{0,2}${MARK}${SKILL_NAME}${MARK}`,
  "gi",
);
/** `Skill("taste")`, `Skill(skill="tea:taste", args="hot")`, `Skill({ skill: "taste" })` */
const SKILL_TOOL =
  /\bSkill\(\s{0,4}(?:\{\s{0,4})?(?:skill\s{0,2}[:=]\s{0,2})?["'`](?:[\w-]{1,60}:)?([a-z0-9][a-z0-9-]{1,60})["'`]/g;
/** "Required sub-skill: use tea:taste" */
const QUALIFIED = /(?<![\w/.:-])[a-z][\w-]{1,40}:([a-z][a-z0-9-]{2,60})(?![\w:/-])/g;
const CALLS = /\b(?:invoke|use|run|call|load|execute|follow|apply|dispatch|start|hand (?:off|over) to)\b/i;
const NEVER = /\b(?:never|not|don['’]t|without|instead of)\b[^.;:!?]{0,80}$/i;
const MAX_SKILL_FILES = 200;
const MAX_CALLS = 100;

/** The skills that steps name in words, `invoke the … skill`, or as `skill:…`. */
export function callsOf(
  tree: SourceTree,
  { texts, called }: Pick<SourceGraph, "texts" | "called">,
  { path: from, name: own }: { readonly path: string; readonly name: string },
  findings: ImportFindings,
): readonly Call[] {
  const itself = new Set([nameOf(folderOf(from)), own.toLowerCase()]);
  const calls = new Map(
    [...called].map((folder): [string, Call] => [nameOf(folder), { name: nameOf(folder), folder }]),
  );
  for (const [path, source] of texts) {
    for (const line of source.body) {
      const text = line.text.slice(0, 2_000);
      if (!/\bskill\b/i.test(text)) continue;
      for (const { name, isCalled } of skillsIn(text)) {
        if (calls.size >= MAX_CALLS || calls.has(name) || itself.has(name)) continue;
        const folder = folderOfSkill(tree, name, from);
        if (folder === undefined && !isCalled) continue;
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

/** The skills that a line names: those it calls in any case, and those that are called where they are at hand. */
function skillsIn(text: string): readonly { readonly name: string; readonly isCalled: boolean }[] {
  const ofBmad = [...text.matchAll(NAMED_SKILL)].map(([, name = ""]) => ({ name, isCalled: true }));
  const others = [...text.matchAll(CALLED_SKILL), ...text.matchAll(QUALIFIED)].flatMap((match) => {
    const lead = text.slice(0, match.index);
    const name = (match[1] ?? match[2] ?? "").toLowerCase();
    return CALLS.test(lead) && !isDenied(lead, NEVER)
      ? [{ name, isCalled: !/^[a-z]/i.test(match[0]) || /^skill/i.test(match[0]) }]
      : [];
  });
  const byTool = [...text.matchAll(SKILL_TOOL)].flatMap(({ 1: name = "", index }) =>
    isDenied(text.slice(0, index), NEVER) ? [] : [{ name, isCalled: false }],
  );
  return [...ofBmad, ...others, ...byTool];
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
