import { cutText, oneLine } from "../../text.js";
import { tokensInBody } from "../words/body-tokens.js";
import { directiveOf } from "../words/directives.js";
import { firstStepsOf } from "./first-steps.js";
import { waysInFront } from "./front-ways.js";
import { References } from "../source/references.js";
import { type SourceText, readSource, textsOf } from "../source/source-text.js";
import { type SourceTree, folderOf, nameOf, workflowBeside, isEntryName } from "../source/source-tree.js";
import { isStepFile, isStepFolder } from "../source/step-files.js";
import { StepNames, leadsTo } from "../words/step-names.js";

/** The forms in which workflows are found. */
export type EntryForm =
  /** `workflow.yaml` with instructions: a bundle run runs it. */
  | "yaml"
  /** An entry that leads to step files: imported, each step is a node. */
  | "steps"
  /** Instructions in one file, a skill without steps: imported, it is one node. */
  | "instructions"
  /** A persona with a menu of other workflows. */
  | "agent";

export interface Entry {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly form: EntryForm;
  /** What the entry's text is read from: the file itself, or the one that it points to. */
  readonly document: string;
}

const MAX_TEXT = 600;

/** Every file of a tree that a workflow begins with, in the order of the paths. What has no name is called as its folder; `root` is the tree's. */
export function findEntries(tree: SourceTree, root = ""): readonly Entry[] {
  const entries: Entry[] = [];
  const pointedAt = new Set<string>();
  for (const path of tree.paths) {
    if (!isEntryName(nameOf(path)) || isTemplate(tree, path)) continue;
    const entry = /\.ya?ml$/.test(path) ? yamlEntry(tree, path, root) : textEntry(tree, path, root);
    if (entry === undefined) continue;
    entries.push(entry);
    if (entry.document !== path) pointedAt.add(entry.document);
    else if (leadsToWorkflow(tree, path)) pointedAt.add(workflowBeside(path));
  }
  const withMain = new Set(
    entries.filter(({ path }) => MAIN.test(nameOf(path))).map(({ path }) => folderOf(path)),
  );
  return entries.filter(({ path }) => !pointedAt.has(path) && !isPartOf(path, withMain));
}

const MAIN = /^(?:SKILL|workflow)\.md$/;

/** `workflow-sketch.md` beside a `workflow.md` that begins all of them, or a plan that was left there. */
function isPartOf(path: string, withMain: ReadonlySet<string>): boolean {
  const name = nameOf(path);
  return name.startsWith("workflow-plan") || (name.startsWith("workflow-") && withMain.has(folderOf(path)));
}

const MATERIAL = /^(.*)(?:^|\/)(?:templates?|data|references?|examples?|docs|resources)\//i;

/** Templates, data and references of a workflow that makes workflows. A skill in such a folder that is no part of another one is a skill. */
function isTemplate(tree: SourceTree, path: string): boolean {
  // `tasks/workflow.md` is the engine that carries out the older form.
  if (/(?:^|\/)tasks\/[^/]*$/.test(path) || /(?:^|\/)node_modules\//.test(path)) return true;
  const above = MATERIAL.exec(path)?.[1];
  if (above === undefined) return false;
  const isSkill = nameOf(path) === "SKILL.md" && textsOf(readSource(tree.text(path)).frontmatter).has("name");
  return !isSkill || beginsAbove(tree, above);
}

/** Whether a workflow begins in a folder, or in one that it lies in. One at the root, above other skills, leads to a collection of them. */
function beginsAbove(tree: SourceTree, folder: string): boolean {
  if (folder === "") return BEGIN.some((name) => tree.has(name)) && !isCollection(tree);
  return BEGIN.some((name) => tree.has(`${folder}/${name}`)) || beginsAbove(tree, folderOf(folder));
}

const knownCollections = new WeakMap<SourceTree, boolean>();

/** Whether skills lie below the root that are no material of another one. */
function isCollection(tree: SourceTree): boolean {
  const known =
    knownCollections.get(tree) ??
    tree.named("SKILL.md").filter((path) => path !== "SKILL.md" && !MATERIAL.test(path)).length > 1;
  knownCollections.set(tree, known);
  return known;
}

const BEGIN = ["SKILL.md", "workflow.md", "workflow.yaml", "workflow.yml"];

function yamlEntry(tree: SourceTree, path: string, root: string): Entry | undefined {
  if (!/^workflow\.ya?ml$/.test(nameOf(path))) return undefined;
  const name = /^name:\s{0,8}["']?([^"'\n]{1,200})/m.exec(tree.text(path).slice(0, 20_000))?.[1];
  const shown = name?.trim() ?? (nameOf(folderOf(path)) || root);
  return { path, name: shown, description: "", form: "yaml", document: path };
}

/** A `workflow-….md` that neither leads to steps nor has a name is a text about workflows. */
function textEntry(tree: SourceTree, path: string, root: string): Entry | undefined {
  const source = readSource(tree.text(path));
  const document = documentOf(tree, path, source);
  const described = textsOf(source.frontmatter);
  const own = described.has("name") ? described : textsOf(readSource(tree.text(document)).frontmatter);
  const form = formOf(tree, path, document);
  if (form !== "steps" && nameOf(path).startsWith("workflow-") && !own.has("name")) return undefined;
  if (form === "instructions" && isOfTool(path, source)) return undefined;
  return {
    path,
    name: lineAt(own, "name") || fallbackName(path, root),
    description: lineAt(own, "description"),
    form,
    document,
  };
}

const OF_TOOLS = /(?:^|\/)(?:commands?|agents?|rules|chatmodes|steering|droids)\/workflow[\w-]{0,81}\.md$/;

/** A command, rule or agent of a coding tool that is called `workflow`, among others of its kind. */
function isOfTool(path: string, source: SourceText): boolean {
  return OF_TOOLS.test(path) || (nameOf(path) !== "SKILL.md" && Object.hasOwn(source.frontmatter, "tools"));
}

function fallbackName(path: string, root: string): string {
  const name = nameOf(path).replace(/\.md$/, "");
  const folder = nameOf(folderOf(path));
  return name === "SKILL" || name === "workflow" ? folder || root || name : name;
}

function lineAt(texts: ReadonlyMap<string, string>, key: string): string {
  return cutText(oneLine(texts.get(key) ?? ""), MAX_TEXT);
}

/** A short `SKILL.md` that names one workflow file is a pointer to it, whatever that is called where it leads to steps. */
function documentOf(tree: SourceTree, path: string, source: SourceText): string {
  const words = source.body.filter(({ text }) => text.trim() !== "");
  if (nameOf(path) !== "SKILL.md" || words.length > 6) return path;
  const references = new References(tree, folderOf(path), path, new Map());
  const named = new Set<string>();
  for (const { token } of tokensInBody(source.body)) {
    const target = references.resolve(token.text);
    if (target.kind === "file" && target.path.endsWith(".md")) named.add(target.path);
  }
  const [only = path] = named;
  if (named.size !== 1 || only === path) return path;
  if (isEntryName(nameOf(only))) return only;
  const isOwn = folderOf(only) === folderOf(path) && !isStepFile(tree, only);
  return isOwn && hasStepsOf(tree, only) ? only : path;
}

/** By a skill's own name, or where it lies: the names of the folders further up, such as a repository's, say nothing of it. */
const OF_AGENTS = /(?:^|\/)agents?\/[^/]*$|(?:^|[-/])agents?(?:-[^/]*)?$/;
/** Somebody to be, or a menu to show: skills about agents speak of both. */
const IS_PERSONA =
  /\b(?:your?|adopt|embody|assume|become|take on)\b[^.\n]{0,80}\bpersona\b|\b(?:in|break) character\b|<menu>|^#.{0,80}\b(?:persona|menu)\b|agent\.menu|\bmenu:/im;

function formOf(tree: SourceTree, path: string, document: string): EntryForm {
  const folder = folderOf(document);
  const source = readSource(tree.text(document));
  const references = new References(tree, folder, document, textsOf(source.frontmatter));
  const named = new Set<string>();
  for (const { line, token } of tokensInBody(source.body)) {
    const target = line.isCode ? undefined : references.resolve(token.text);
    if (target?.kind === "file" && isStepFile(tree, target.path)) return "steps";
    if (target?.kind === "folder" && isStepFolder(tree, target.path)) return "steps";
    if (target?.kind === "file") named.add(target.path);
  }
  if ([...named].some((name) => hasSteps(tree, name, document))) return "steps";
  if (namesStep(tree, document, source)) return "steps";
  for (const { value, isNext } of waysInFront(source.frontmatter)) {
    if (!isNext) continue;
    const target = references.resolve(value);
    if (target.kind === "file" && target.path.endsWith(".md")) return "steps";
  }
  if (OF_AGENTS.test(folderOf(path)) && IS_PERSONA.test(tree.text(document))) return "agent";
  return firstStepsOf(tree, document).length > 0 ? "steps" : "instructions";
}

/** Whether a file is the `workflow.md` beside a longer `SKILL.md`, and has steps. */
function hasSteps(tree: SourceTree, path: string, document: string): boolean {
  return nameOf(document) === "SKILL.md" && path === workflowBeside(document) && hasStepsOf(tree, path);
}

/** Whether a workflow's document leads to steps. */
export function hasStepsOf(tree: SourceTree, document: string): boolean {
  return formOf(tree, document, document) === "steps";
}

/** Whether a longer `SKILL.md` leads to the `workflow.md` beside it: that is a part of it, and no workflow of its own. */
export function leadsToWorkflow(tree: SourceTree, path: string): boolean {
  const beside = workflowBeside(path);
  if (nameOf(path) !== "SKILL.md" || !tree.has(beside)) return false;
  const source = readSource(tree.text(path));
  const references = new References(tree, folderOf(path), path, textsOf(source.frontmatter));
  for (const { line, token, before } of tokensInBody(source.body)) {
    const target = references.resolve(token.text);
    if (target.kind === "file" && target.path === beside && directiveOf(line, token, before).kind === "go")
      return true;
  }
  return false;
}

/** Whether a document leads to a step by another name than its path. */
function namesStep(tree: SourceTree, document: string, source: SourceText): boolean {
  const lines = source.body.filter(({ text, isCode }) => !isCode && /\bstep[-_]?\w?-?\d/i.test(text));
  if (lines.length === 0) return false;
  const names = new StepNames(tree, folderOf(document));
  return lines.some(({ text }) =>
    names
      .in(text, document)
      .some((named) => named.form === "name" && named.steps.length === 1 && leadsTo(text, named, "")),
  );
}
