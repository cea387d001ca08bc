import { isBelow } from "./references.js";
import { type SourceTree, folderOf, isEntryName, nameOf } from "./source-tree.js";

const RESUMES = /^(?:step-|(?:step|e|v)?-?[a-z]?-?\d{1,3}[a-z]?-)?(?:continue|continuation|resume)\.md$/i;
const NUMBERED = /^(?:(?:step|phase|stage)[-_]?)?(?:[a-z]-)?(\d{1,3}(?:\.\d{1,2})?)([a-z]?)(?=[-_.])/i;

/** Without the marks and capitals of its spelling. */
const NEXT_KEY =
  /^(?:next|alt(?:ernate)?\w*(?:step|file)|skipto|continue(?:step)?file$|validationflow$|(?:entry|first|start|initial)step(?:file)?$)/;
/** `step-01-c-pot.md`, `step-c-01-pot.md`: steps of the mode `c`. */
const MODE = /^(?:step[-_]?)?(?:([a-z])-\d{1,3}[a-z]?|\d{1,3}[a-z]?-([a-z]))(?=[-_])/i;

const knownEntries = new WeakMap<SourceTree, Map<string, readonly string[]>>();

/** The files of a folder that workflows begin with; asked for each step that nothing leads to. */
export function entriesIn(tree: SourceTree, folder: string): readonly string[] {
  const known = knownEntries.get(tree) ?? new Map<string, readonly string[]>();
  knownEntries.set(tree, known);
  const entries = known.get(folder) ?? tree.filesIn(folder).filter((path) => isEntryName(nameOf(path)));
  known.set(folder, entries);
  return entries;
}

export function isStepFolder(tree: SourceTree, folder: string): boolean {
  return isCalledSteps(folder) || (/^(?:phases?|stages?)$/i.test(nameOf(folder)) && isChain(tree, folder));
}

function isCalledSteps(folder: string): boolean {
  return /^(?:steps?(?:-\w{1,20})?|\w{1,40}-steps)$/.test(nameOf(folder));
}

const knownChains = new WeakMap<SourceTree, Map<string, boolean>>();

/** Whether each numbered file of a folder leads to one that comes soon after it: elsewhere the document says which are carried out, and when. */
function isChain(tree: SourceTree, folder: string): boolean {
  const known = knownChains.get(tree) ?? new Map<string, boolean>();
  knownChains.set(tree, known);
  const answer =
    known.get(folder) ??
    eachLeadsOn(
      tree,
      tree.filesIn(folder).filter((path) => numeralOf(path) !== undefined && languageOf(path) === ""),
    );
  known.set(folder, answer);
  return answer;
}

/** A file like `01-pot.md` of such a folder, whatever that is called. */
function isLink(tree: SourceTree, path: string): boolean {
  const folder = folderOf(path);
  return (
    numeralOf(path) !== undefined &&
    languageOf(path) === "" &&
    !MATERIAL.test(`${folder}/`) &&
    isChain(tree, folder)
  );
}

function eachLeadsOn(tree: SourceTree, files: readonly string[]): boolean {
  const inOrder = files.toSorted((one, other) => (comesBefore(one, other) ? -1 : 1));
  const leads = (path: string, next: string): boolean =>
    tree
      .text(path)
      .split(/\r\n|\n|\r/)
      .some((line) => line.includes(next) && LEADS_ON.test(line.slice(0, MAX_LINE)));
  const leadsOn = (path: string, index: number): boolean =>
    inOrder.slice(index + 1, index + 1 + MAX_SKIPPED).some((next) => leads(path, nameOf(next)));
  return inOrder.length > 1 && inOrder.slice(0, -1).every(leadsOn);
}

/** Of phases so many may be gone to from one before them: one that is done in a case lies between. */
const MAX_SKIPPED = 3;
const MAX_LINE = 1_000;
/** A row of a table lists, and leads nowhere. */
const LEADS_ON =
  /^(?!\s*\|).*(?:\b(?:proceed|continue|go|move|advance|next|load|read|follow|start|begin|enter|execute|run)s?\b|→|->|^\s*[-*+]?\s*\**(?:if|else|otherwise|when)\b[^:]{0,120}:)/i;

/** A file that is a step by its name, wherever it lies. */
export function isNumberedStep(path: string): boolean {
  return /^step[-_]?(?:[a-z]-)?\d[^/]*\.md$/i.test(nameOf(path));
}

/** `data/step-type-patterns.md` tells of steps. */
const IS_DATA = /(?:^|\/)(?:templates?|data|examples?|docs|resources|assets)$/i;

/** A file that is a step by its name or place, or because it names the step after it. */
export function isStepFile(tree: SourceTree, path: string): boolean {
  if (!path.endsWith(".md")) return false;
  const name = nameOf(path);
  if (/^step[-_]?[a-z]?-?\d/i.test(name)) return true;
  if (name.startsWith("step-") && !IS_DATA.test(folderOf(path))) return true;
  if (isStepFolder(tree, folderOf(path)) || isCalledSteps(folderOf(folderOf(path)))) return true;
  if (isLink(tree, path)) return true;
  const [, head = ""] =
    /^\ufeff?\s{0,40}---[ \t\r]*\n(.{0,4000}?)\n---/s.exec(tree.text(path).slice(0, 5_000)) ?? [];
  return /^(?:nextStepFile|nextStep|thisStepFile):/m.test(head);
}

/** Whether a file names a step beside it: one that does not is read where it is asked for, and as a step it would be the end. */
export function namesStepBeside(tree: SourceTree, path: string): boolean {
  const text = tree.text(path);
  return tree
    .filesIn(folderOf(path))
    .some((file) => file !== path && isStepFile(tree, file) && text.includes(nameOf(file)));
}

/** Whether a key of a front matter names a step after this one, or the first. */
export function isNextKey(key: string): boolean {
  return NEXT_KEY.test(key.replaceAll(/[-_]/g, "").toLowerCase());
}

/** A step that takes up a run that was interrupted: the engine does. */
export function resumesRun(path: string): boolean {
  return RESUMES.test(nameOf(path));
}

/** The number that a step's file begins with; of `step-01b-x.md` 1. */
function numberOf(path: string): number | undefined {
  const [, digits] = NUMBERED.exec(nameOf(path)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The same with its letter: `1b`. */
export function numeralOf(path: string): string | undefined {
  const [, digits, letter = ""] = NUMBERED.exec(nameOf(path)) ?? [];
  return digits === undefined ? undefined : `${Number(digits)}${letter.toLowerCase()}`;
}

/** The letter of a step's mode; empty where its name has none. */
export function modeOf(path: string): string {
  const [, before = "", after = ""] = MODE.exec(nameOf(path)) ?? [];
  return (before || after).toLowerCase();
}

/** What a workflow that makes workflows holds besides its own steps. */
const MATERIAL = /(?:^|\/)(?:templates?|data|references?|examples?|docs|resources|assets)\//i;
const knownSteps = new WeakMap<SourceTree, readonly string[]>();

/** The steps of a folder and those below it, without templates and examples of steps. */
export function stepsBelow(tree: SourceTree, folder: string): readonly string[] {
  const known = knownSteps.get(tree) ?? tree.paths.filter((path) => isStepFile(tree, path));
  knownSteps.set(tree, known);
  const below = known.filter((path) => isBelow(path, folder));
  const own = below.filter((path) => !isMaterial(path, folder));
  if (own.some(isNumberedStep)) return own;
  const references = folder === "" ? "references" : `${folder}/references`; // skills keep steps there too
  return [...own, ...below.filter((path) => folderOf(path) === references && isNumberedStep(path))];
}

/** Whether a file below a workflow's folder is one of its templates, examples or references. */
export function isMaterial(path: string, folder: string): boolean {
  return MATERIAL.test(path.slice(folder === "" ? 0 : folder.length + 1));
}

/** Of `step-03-cup.zh.md` and `step-03-cup_pt-br.md` the language that they are in; empty where a name says none. */
export function languageOf(path: string): string {
  return /[._]([a-z]{2}(?:[-_][a-z]{2})?)\.md$/i.exec(nameOf(path))?.[1]?.toLowerCase() ?? "";
}

/** The one file beside a step that has the number of a file which is missing. */
export function nearestStep(tree: SourceTree, path: string, missing: string): string | undefined {
  const number = /^(?:step-)?[a-z]?-?\d{1,3}(?:\.\d{1,2})?[a-z]?/i.exec(nameOf(missing))?.[0];
  if (number === undefined) return undefined;
  const folder = tree.filesIn(folderOf(missing)).length > 0 ? folderOf(missing) : folderOf(path);
  const alike = tree
    .filesIn(folder)
    .filter((known) => nameOf(known).startsWith(`${number}-`) && !resumesRun(known) && known !== path);
  return alike.length === 1 ? alike[0] : undefined;
}

/** The steps beside a step, in its language and mode, that are numbered next after it: after 4 comes 4.5, where it is there, else 5. */
export function nextInOrder(tree: SourceTree, path: string): readonly string[] {
  const number = numberOf(path);
  if (number === undefined) return [];
  const after = tree.filesIn(folderOf(path)).flatMap((file) => {
    const other = file.endsWith(".md") && !resumesRun(file) ? numberOf(file) : undefined;
    const isNext = other !== undefined && other > number && other <= Math.floor(number) + 1;
    return isNext && kindOf(file) === kindOf(path) ? [{ file, other }] : [];
  });
  const next = Math.min(...after.map(({ other }) => other));
  const found = after.filter(({ other }) => other === next).map(({ file }) => file);
  const alike = found.filter((file) => restOf(file) === restOf(path));
  return alike.length === 1 ? alike : found;
}

/** What a step is called behind its number: `step-02.md` is followed by `step-03.md`, whatever `step-03-b.md` is. */
function restOf(path: string): string {
  return nameOf(path).replace(NUMBERED, "");
}

/** Steps of one kind, which may follow one another: in a folder, of a mode, in a language. */
export function kindOf(path: string): string {
  return `${folderOf(path)}\n${modeOf(path)}\n${languageOf(path)}`;
}

/** Whether a step is numbered before another one of its kind. */
export function comesBefore(step: string, other: string): boolean {
  const [one, two] = [numeralOf(step), numeralOf(other)];
  if (one === undefined || two === undefined || kindOf(step) !== kindOf(other)) return false;
  const [before, after] = [Number.parseFloat(one), Number.parseFloat(two)];
  return before < after || (before === after && one < two);
}
