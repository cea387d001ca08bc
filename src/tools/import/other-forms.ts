import { readFile, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { readAgentMarkup } from "../../core/bundle/bundle-agent.js";
import { isNumberedStep, isStepFolder, numeralOf } from "../../core/import/source/step-files.js";
import { named } from "../../core/import/source/findings.js";
import { isBelow } from "../../core/import/source/references.js";
import { listSome, shellWord } from "../../core/text.js";
import { leadsSomewhere } from "../../store/disk/is-there.js";
import { type ReadSource, pathInTree } from "./read-source.js";

/** What BMAD up to its version 5 leaves in a project, or consists of. */
const OF_VERSION_4 = [
  ".bmad-core",
  "bmad-core",
  "core-config.yaml",
  "core-config.yml",
  "agent-teams",
  "expansion-packs",
];

const IS_OF_VERSION_4 =
  "is BMAD of version 4 or 5: an agent carries its tasks out in a chat, and nothing says which step follows which. Workflows of version 6 and later can be run.";

/** In a hidden folder of a tool, whichever that is, these hold prompts. */
const OF_TOOLS =
  /^(?:commands?|prompts|agents?|(?:micro|sub)agents|rules(?:-[\w-]{1,40})?|guidelines|workflows|instructions|chatmodes|modes|steering|specs|droids)$/;
/** Where else editors and other methods keep prompts. */
const PROMPTS = [
  ".specify/templates",
  ".clinerules",
  ".roomodes",
  ".kilocodemodes",
  ".cursorrules",
  ".windsurfrules",
  ".goosehints",
  "templates/commands",
  "commands",
  "prompts",
];
const DOCUMENTS = [
  "AGENTS.md",
  "AGENT.md",
  "CLAUDE.md",
  "GEMINI.md",
  "QWEN.md",
  "WARP.md",
  ".github/copilot-instructions.md",
  ".junie/guidelines.md",
  ".augment-guidelines",
  ".rules",
];
/** Of other tools' flows, whose nodes are no texts in files. */
const FLOWS = ["tasks.yaml", "config/tasks.yaml", "langgraph.json", ".taskmaster"];
export const REWRITE =
  "Flows of other tools are not imported: write what each of their parts does as a step (interlock package new begins a package).";

/** Numbered files in one of these, right below a directory, are somebody's steps. */
const STEPS = ["steps", "phases", "stages"];
const BEGIN = ["SKILL.md", "workflow.md"];
export const ALONE = "copy it into a folder of its own under the name SKILL.md, and import that folder";
const ONE = `To import one, ${ALONE} (of TOML, YAML or JSON the text of its prompt).`;

/** Of links that are looked behind. */
const MAX_LINKS = 200;

/** What is known of a directory or a file in which no workflow begins, and what to do; undefined where nothing is. */
export async function otherForm(path: string, source: ReadSource): Promise<string | undefined> {
  const workflow = await workflowAbove(path, source);
  if (workflow !== undefined) return `It is a part of "${workflow}": name that one.`;
  if ((await stat(path)).isFile()) return formOfFile(path);
  if ((await firstOf(path, OF_VERSION_4)) !== undefined) return `This ${IS_OF_VERSION_4}`;
  for (const link of linksBelow(path, source)) {
    if (BEGIN.includes(basename(link)) || (await firstOf(link, BEGIN)) !== undefined)
      return `"${relative(path, link)}" is a link, and links are not followed: name it, or what it leads to.`;
  }
  const flow = flowBelow(path, source) ?? (await firstOf(path, FLOWS));
  const flows = flow === undefined ? undefined : `There is "${flow}". ${REWRITE}`;
  if (isOfTool(path)) return flows ?? `These are prompts. ${ONE}`;
  const folders = await promptsIn(path);
  if (folders.length > 0)
    return [`There are prompts in ${listSome(folders.map(named), MAX_NAMED)}. ${ONE}`, flows]
      .join(" ")
      .trim();
  const steps = stepsBelow(path, source);
  if (steps !== undefined)
    return `There are numbered files in "${steps}": give the document that leads to them the name SKILL.md, and import again.`;
  for (const folder of await foldersIn(path))
    if ((await firstOf(join(path, folder), OF_VERSION_4)) !== undefined)
      return `"${folder}" ${IS_OF_VERSION_4}`;
  return flows ?? (await promptTexts(path, source));
}

const MAX_LEVELS = 4;

/** Whether a folder is one of a tool's prompts, or lies in one. */
function isOfTool(path: string): boolean {
  const names = path.split(sep).slice(-MAX_LEVELS);
  return names.some((name, index) => name === ".clinerules" || isKindOf(names[index - 1] ?? "", name));
}

/** What `.github/workflows` has is for machines. */
function isKindOf(tool: string, kind: string): boolean {
  return tool.startsWith(".") && OF_TOOLS.test(kind) && !(tool === ".github" && kind === "workflows");
}

/** The places of a folder where prompts are kept, the hidden ones of tools first. */
async function promptsIn(path: string): Promise<readonly string[]> {
  const found: string[] = [];
  const own = await foldersIn(path);
  for (const name of own) {
    if (isKindOf(basename(path), name)) found.push(name);
    if (!name.startsWith(".")) continue;
    for (const kind of await foldersIn(join(path, name)))
      if (isKindOf(name, kind)) found.push(`${name}/${kind}`);
  }
  for (const name of PROMPTS)
    if (!found.includes(name) && (await leadsSomewhere(join(path, name)))) found.push(name);
  return found;
}

async function foldersIn(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

/** Texts that look like prompts by their name or head, those in the folder itself first; else a document of a project's agents. */
async function promptTexts(path: string, source: ReadSource): Promise<string | undefined> {
  const below = filesBelow(path, source);
  const depth = (file: string): number => file.split("/").length;
  const texts = below.filter((file) => isPrompt(file, textOf(path, file, source)));
  const first = texts.toSorted((one, other) => depth(one) - depth(other));
  if (first.length > 0)
    return `There are texts that may be prompts: ${listSome(first.map(named), MAX_NAMED)}. ${ONE}`;
  const document = await firstOf(path, DOCUMENTS);
  return document === undefined ? undefined : `There are prompts in "${document}". ${ONE}`;
}

const MAX_NAMED = 3;
/** What tells of a project, whatever its head says. */
const ABOUT =
  /^(?:readme|changelog|contributing|code[-_]of[-_]conduct|security|licen[cs]e)(?:[._][\w-]{2,8})?\.md$/i;
/** The same, where no head says what it is for. */
const IN_CAPITALS = /^[A-Z\d_-]{2,40}(?:[._][\w-]{2,8})?\.md$/;
const HEAD =
  /^\ufeff?---[ \t]*\r?\n(?:.{0,300}\r?\n){0,12}?(?:description|globs|alwaysApply|argument-hint|mode):/;

function isPrompt(file: string, text: string): boolean {
  const name = file.slice(file.lastIndexOf("/") + 1);
  if (/\.(?:mdc|kiro\.hook|(?:prompt|agent|chatmode|instructions)\.md)$/.test(name)) return true;
  if (name.endsWith(".toml")) return /^(?:prompt|instructions)\s{0,4}=/m.test(text);
  if (/\.(?:json|ya?ml)$/.test(name)) return /^[\s{]{0,8}"?customModes"?\s{0,4}:/m.test(text);
  if (!name.endsWith(".md") || ABOUT.test(name)) return false;
  return HEAD.test(text) || (!file.includes("/") && !IN_CAPITALS.test(name));
}

/** The first file of a folder that is a flow by what it says: of n8n, Flowise, Dify, Archon, goose, CrewAI and their kin. */
function flowBelow(path: string, source: ReadSource): string | undefined {
  return filesBelow(path, source)
    .filter((file) => /\.(?:json|ya?ml)$/.test(file))
    .find((file) => isFlow(textOf(path, file, source)));
}

function isFlow(text: string): boolean {
  if (/^\s{0,20}[{[]/.test(text))
    return /"nodes"\s{0,4}:\s{0,4}\[/.test(text) && /"(?:connections|edges)"\s{0,4}:/.test(text);
  return FLOW_KEYS.some((keys) => keys.every((key) => key.test(text)));
}

const FLOW_KEYS = [
  [/^nodes:/m, /^[ \t-]{1,20}(?:depends_on|id|source|type):/m],
  [/^[ \t]{0,4}graph:/m, /^[ \t]{1,20}nodes:/m],
  [/^[\w-]{1,80}:/m, /^[ \t]{1,20}expected_output:/m],
  [/^title:/m, /^(?:instructions|prompt):/m],
];

/** The texts below a folder, and what else lies there, by their paths from it. */
function filesBelow(path: string, source: ReadSource): readonly string[] {
  const { tree } = source;
  const within = pathInTree(source, path);
  const unread = [...tree.leftOut.keys()].filter((file) => isBelow(file, within));
  return [...tree.filesBelow(within), ...unread].map((file) =>
    file.slice(within === "" ? 0 : within.length + 1),
  );
}

function textOf(path: string, file: string, source: ReadSource): string {
  return source.tree.text(pathInTree(source, join(path, file)));
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

function stepsBelow(path: string, source: ReadSource): string | undefined {
  const within = pathInTree(source, path);
  return STEPS.find((name) => {
    const files = source.tree.filesIn(within === "" ? name : `${within}/${name}`);
    return files.filter((file) => file.endsWith(".md") && numeralOf(file) !== undefined).length > 1;
  });
}

function linksBelow(path: string, { root, tree }: ReadSource): readonly string[] {
  const links = [...tree.leftOut].flatMap(([link, why]) => (why === "link" ? [join(root, link)] : []));
  return links.filter((link) => link.startsWith(`${path}${sep}`)).slice(0, MAX_LINKS);
}

const PROMPT_IN_IT =
  "If it holds a prompt, put that alone into a SKILL.md in a folder of its own, and import that folder.";

async function formOfFile(path: string): Promise<string | undefined> {
  if (/\.(?:zip|bmad|skill|tar|t?gz|tar\.\w+|7z|rar)$/i.test(path)) {
    return "It is an archive: unpack it, and name the directory.";
  }
  if (/\.(?:json|ya?ml)$/i.test(path))
    return isFlow(await textIn(path)) ? REWRITE : `${PROMPT_IN_IT} ${REWRITE}`;
  if (!/\.(?:md|mdc|txt)$/i.test(path)) return PROMPT_IN_IT;
  return (await formOfText(path)) ?? `If it holds instructions, ${ALONE}.`;
}

const MAX_TEXT_BYTES = 1024 * 1024;
/** What a prompt of an installation loads, which is all that it does. */
const LOADED =
  /\{project-root\}\/([^\s"'`{}*]{1,300}\/(?:workflow(?:-[\w-]{1,60})?\.(?:ya?ml|md)|agents\/[^\s"'`{}*]{1,100}\.md))(?![\w/])/;

/** Of an agent, and of a prompt that loads one or a workflow of its project, what is to be typed. */
async function formOfText(path: string): Promise<string | undefined> {
  const text = await textIn(path);
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

/** The text of a file; none of a longer one. */
async function textIn(path: string): Promise<string> {
  return (await stat(path)).size > MAX_TEXT_BYTES ? "" : readFile(path, "utf8").catch(() => "");
}

async function firstOf(path: string, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) if (await leadsSomewhere(join(path, name))) return name;
  return undefined;
}
