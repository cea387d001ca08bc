import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { readAgentMarkup } from "../../core/bundle/bundle-agent.js";
import { isNumberedStep, isStepFolder, numeralOf } from "../../core/import/source/step-files.js";
import { shellWord } from "../../core/text.js";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import type { ReadSource } from "./read-source.js";

/** What BMAD up to its version 5 leaves in a project, or consists of. */
const OF_VERSION_4 = [".bmad-core", "bmad-core", "core-config.yaml", "core-config.yml", "agent-teams"];

/** Where editors and other methods keep prompts. */
const PROMPTS = [
  ".claude/commands",
  ".claude/agents",
  ".cursor/commands",
  ".cursor/rules",
  ".github/prompts",
  ".github/agents",
  ".github/chatmodes",
  ".codex/prompts",
  ".gemini/commands",
  ".qwen/commands",
  ".opencode/command",
  ".opencode/commands",
  ".opencode/agent",
  ".opencode/agents",
  ".windsurf/workflows",
  ".windsurf/rules",
  ".clinerules/workflows",
  ".clinerules",
  ".kiro/agents",
  ".kiro/steering",
  ".kiro/specs",
  ".kilocode/workflows",
  ".roo/commands",
  ".roomodes",
  ".agent/workflows",
  ".agent-os/instructions",
  ".agent-os/commands",
  ".specify/templates",
  "templates/commands",
  "commands",
  "prompts",
  "AGENTS.md",
  "CLAUDE.md",
  "GEMINI.md",
];
/** Of other tools' flows, whose nodes are no texts in files. */
const FLOWS = ["tasks.yaml", "config/tasks.yaml", "langgraph.json", ".taskmaster"];
const REWRITE =
  "Flows of other tools are not imported: write what each of their parts does as a step (interlock package new begins a package).";

/** Numbered files in one of these, right below a directory, are somebody's steps. */
const STEPS = ["steps", "phases", "stages"];
const BEGIN = ["SKILL.md", "workflow.md"];
const ALONE = "copy it into a folder of its own under the name SKILL.md, and import that folder";
const ONE = `To import one, ${ALONE} (of TOML, YAML or JSON the text of its prompt).`;

/** Of links that are looked behind. */
const MAX_LINKS = 200;

/** What is known of a directory or a file in which no workflow begins, and what to do; undefined where nothing is. */
export async function otherForm(path: string, source: ReadSource): Promise<string | undefined> {
  const workflow = await workflowAbove(path, source);
  if (workflow !== undefined) return `It is a part of "${workflow}": name that one.`;
  if ((await stat(path)).isFile()) return formOfFile(path);
  if ((await firstOf(path, OF_VERSION_4)) !== undefined) {
    return "This is BMAD of version 4 or 5: an agent carries its tasks out in a chat, and nothing says which step follows which. Workflows of version 6 and later can be run.";
  }
  for (const link of linksBelow(path, source)) {
    if (BEGIN.includes(basename(link)) || (await firstOf(link, BEGIN)) !== undefined)
      return `"${relative(path, link)}" is a link, and links are not followed: name it, or what it leads to.`;
  }
  const within = PROMPTS.find(
    (folder) => folder.startsWith(".") && `${path}${sep}`.includes(join(sep, folder, sep)),
  );
  if (within !== undefined) return `These are prompts. ${ONE}`;
  const below = PROMPTS.filter((folder) => folder.startsWith(`${basename(path)}/`));
  const prompts =
    (await firstOf(path, PROMPTS)) ??
    (await firstOf(
      path,
      below.map((folder) => folder.slice(basename(path).length + 1)),
    ));
  if (prompts !== undefined) return `There are prompts in "${prompts}". ${ONE}`;
  const steps = stepsBelow(path, source);
  if (steps !== undefined)
    return `There are numbered files in "${steps}": give the document that leads to them the name SKILL.md, and import again.`;
  const flow = await firstOf(path, FLOWS);
  return flow === undefined ? undefined : `There is "${flow}". ${REWRITE}`;
}

/** Of a step, or a folder of steps, the document that a workflow begins with beside it or in the folder above. */
async function workflowAbove(path: string, { tree }: ReadSource): Promise<string | undefined> {
  if (!isNumberedStep(path) && !isStepFolder(tree, path)) return undefined;
  for (const folder of [dirname(path), dirname(dirname(path))]) {
    const name = await firstOf(folder, BEGIN);
    if (name !== undefined) return join(folder, name);
  }
  return undefined;
}

function stepsBelow(path: string, { root, tree }: ReadSource): string | undefined {
  const within = relative(root, path).split(sep).join("/");
  return STEPS.find((name) => {
    const files = tree.filesIn(within === "" ? name : `${within}/${name}`);
    return files.filter((file) => file.endsWith(".md") && numeralOf(file) !== undefined).length > 1;
  });
}

function linksBelow(path: string, { root, tree }: ReadSource): readonly string[] {
  const links = [...tree.leftOut].flatMap(([link, why]) => (why === "link" ? [join(root, link)] : []));
  return links.filter((link) => link.startsWith(`${path}${sep}`)).slice(0, MAX_LINKS);
}

async function formOfFile(path: string): Promise<string | undefined> {
  if (/\.(?:zip|bmad|skill|tar|t?gz|tar\.\w+|7z|rar)$/i.test(path)) {
    return "It is an archive: unpack it, and name the directory.";
  }
  if (/\.toml$|(?:^|[/\\])\.roomodes$/i.test(path))
    return "If it holds a prompt, put that alone into a SKILL.md in a folder of its own, and import that folder.";
  if (/\.(?:json|ya?ml)$/i.test(path)) return REWRITE;
  if (!/\.(?:md|mdc|txt)$/i.test(path)) return undefined;
  return (await formOfText(path)) ?? `If it holds instructions, ${ALONE}.`;
}

const MAX_TEXT_BYTES = 1024 * 1024;
/** What a prompt of an installation loads, which is all that it does. */
const LOADED =
  /\{project-root\}\/([^\s"'`{}*]{1,300}\/(?:workflow(?:-[\w-]{1,60})?\.(?:ya?ml|md)|agents\/[^\s"'`{}*]{1,100}\.md))(?![\w/])/;

/** Of an agent, and of a prompt that loads one or a workflow of its project, what is to be typed. */
async function formOfText(path: string): Promise<string | undefined> {
  if ((await stat(path)).size > MAX_TEXT_BYTES) return undefined;
  const text = await readFile(path, "utf8").catch(() => "");
  const withAgent = "interlock bundle run <workflow.yaml> --agent";
  if (readAgentMarkup(text).ok)
    return `It is an agent, and runs with a workflow of its menu: ${withAgent} <this file>`;
  const named = LOADED.exec(text)?.[1];
  if (named === undefined) return undefined;
  const loaded = shellWord(named, "<path>");
  if (/\.ya?ml$/.test(named)) return `It loads a workflow of its project: interlock bundle run ${loaded}`;
  return /\/agents\//.test(named)
    ? `It loads an agent of its project: ${withAgent} ${loaded}`
    : `It loads a workflow of its project: interlock package import ${loaded}`;
}

async function firstOf(path: string, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) if (await leadsSomewhere(join(path, name))) return name;
  return undefined;
}
