import { type SourceTree, folderOf, nameOf, isEntryName } from "../source/source-tree.js";
import type { SourceEdge } from "./source-edge.js";
import {
  comesBefore,
  isNumberedStep,
  isStepFolder,
  kindOf,
  languageOf,
  modeOf,
  namesStepBeside,
  numeralOf,
  resumesRun,
  stepsBelow,
} from "../source/step-files.js";

/** Where steps begin: the first of a folder, or of one of its modes. */
export interface FirstStep {
  readonly path: string;
  /** The folder's name, or what its mode is called. */
  readonly label: string;
}

/** A mode's first step that a document may list, as it does the one that it leads to, without leading there. */
export interface ModeBeside extends FirstStep {
  readonly isNamed: boolean;
}

/** Create, edit and validate, as the workflows of BMAD have them. */
const KNOWN_MODES: ReadonlyMap<string, string> = new Map([
  ["c", "create"],
  ["e", "edit"],
  ["v", "validate"],
]);

/** The first step of a folder; of each of its modes, where the names of all its numbered steps have the letter of one. */
export function firstStepsIn(tree: SourceTree, folder: string, from: string): readonly FirstStep[] {
  return firstStepsAmong(
    tree.filesIn(folder).filter((path) => !isEntryName(nameOf(path))),
    from,
  );
}

/** Whether a text names a numbered step: by its file, or by how its name begins, `steps/step-10-e-*`. */
export function namesNumbered(text: string, path: string): boolean {
  if (numeralOf(path) === undefined) return false;
  if (text.includes(nameOf(path))) return true;
  const words = nameOf(path).split("-", MAX_BEGINNING);
  const beginnings = words.map((_word, index) => words.slice(0, index + 1).join("-"));
  return beginnings.some((beginning) => /\d/.test(beginning) && text.includes(`${beginning}-*`));
}

/** Of `step-10-e-*` the words, and one more. */
const MAX_BEGINNING = 4;
const LISTS = /^\s{0,12}(?:[-*+]\s|\d{1,3}[.)]\s|\||[├└│])(?!.*\b(?:never|not|nie|nicht)\b)/i;

/** The items of a text's lists, the rows of its tables and the lines of its trees that say nothing against what they name. */
export function listedIn(text: string): string {
  return text
    .split(/\r\n|\n|\r/)
    .filter((line) => LISTS.test(line.slice(0, 400)))
    .join("\n");
}

/** Whether such lines have a step, and below it the other one. */
export function listsInOrder(lines: string, step: string, next: string): boolean {
  const at = lines.indexOf(nameOf(step));
  const below = at === -1 ? -1 : lines.indexOf("\n", at);
  return below !== -1 && lines.includes(nameOf(next), below);
}

/** Whether a step is the first of its folder, or of a mode there, for a document in its language. */
export function isFirstStep(tree: SourceTree, path: string, document: string): boolean {
  return firstStepsIn(tree, folderOf(path), document).some((first) => first.path === path);
}

/** The first step of a folder to whose later steps alone a document leads, each under a condition. */
export function firstPassedOver(
  tree: SourceTree,
  ways: readonly SourceEdge[],
  document: string,
): string | undefined {
  const [folder, ...otherFolders] = new Set(ways.map(({ to }) => folderOf(to)));
  if (folder === undefined || otherFolders.length > 0 || !isStepFolder(tree, folder)) return undefined;
  if (ways.some(({ condition, isDefault }) => condition === undefined || isDefault)) return undefined;
  const [first, ...others] = firstStepsIn(tree, folder, document);
  if (first === undefined || others.length > 0) return undefined;
  return ways.every(({ to }) => comesBefore(first.path, to)) ? first.path : undefined;
}

/** The first steps of the other modes, where these are the first ones of some modes of a folder. */
export function modesBeside(
  tree: SourceTree,
  starts: readonly string[],
  document: string,
): readonly ModeBeside[] {
  const lines = listedIn(tree.text(document));
  const areListed = starts.some((path) => namesNumbered(lines, path));
  const folders = new Set(starts.map(folderOf));
  return [...folders].flatMap((folder) => {
    const firsts = firstStepsIn(tree, folder, document);
    const areModes = firsts.length > 1 && firsts.some(({ path }) => starts.includes(path));
    const begun = new Set(starts.map(kindOf));
    const others = areModes ? firsts.filter(({ path }) => !begun.has(kindOf(path))) : [];
    return others.map((first) => ({ ...first, isNamed: areListed && namesNumbered(lines, first.path) }));
  });
}

/**
 * Where the steps begin that lie right below a document's folder, or beside it, two at least: in the folders that the document
 * names, else in those that no other workflow beside it names.
 */
export function firstStepsOf(tree: SourceTree, document: string): readonly FirstStep[] {
  const folder = folderOf(document);
  const rivals = tree
    .filesIn(folder)
    .filter((path) => isEntryName(nameOf(path)) && path !== document && nameOf(path) !== "SKILL.md");
  const own = [...new Set(tree.filesBelow(folder).map(folderOf))].filter(
    (path) => path !== folder && folderOf(path) === folder && isStepFolder(tree, path),
  );
  if (own.length === 0) {
    const beside = rivals.length > 0 ? [] : tree.filesIn(folder).filter(isNumberedStep);
    return beside.length > 1 ? firstStepsAmong(beside, document) : [];
  }
  const names = (path: string, steps: string): boolean => tree.text(path).includes(`${nameOf(steps)}/`);
  const named = own.filter((steps) => names(document, steps));
  const free = own.filter((steps) => !rivals.some((rival) => names(rival, steps)));
  const folders = named.length > 0 ? named : free;
  const isOne = folders.flatMap((steps) => tree.filesIn(steps)).length < 2;
  return isOne ? [] : folders.flatMap((steps) => firstStepsIn(tree, steps, document));
}

/** The same for a document that is known to have steps: in the first folder of steps anywhere below it, where none is its own. */
export function firstStepsBelow(tree: SourceTree, document: string): readonly FirstStep[] {
  const cases = casesOf(tree, document);
  if (cases.length > 1) return cases;
  const steps = firstStepsOf(tree, document);
  if (steps.length > 0) return steps;
  const below = tree.filesBelow(folderOf(document));
  const folder = below.map(folderOf).find((path) => isStepFolder(tree, path));
  if (folder !== undefined) return firstStepsIn(tree, folder, document);
  // Numbered ones that it names, such as in a table of its stages, wherever they lie.
  const text = tree.text(document);
  const named = below.filter((path) => isNumberedStep(path) && text.includes(nameOf(path)));
  return named.length > 1 ? firstStepsAmong(named, document) : [];
}

/** The steps that a document names, where none has a number and none of these names another: they have no order, and one of them is done. */
function casesOf(tree: SourceTree, document: string): readonly FirstStep[] {
  const steps = stepsBelow(tree, folderOf(document));
  if (steps.some((path) => numeralOf(path) !== undefined)) return [];
  const text = tree.text(document);
  const named = steps.filter((path) => text.includes(`${nameOf(folderOf(path))}/${nameOf(path)}`));
  return named.some((path) => namesStepBeside(tree, path)) ? [] : named.map(asCase);
}

/** A step that is one of several to choose from, by its name. */
export function asCase(path: string): FirstStep {
  return { path, label: nameOf(path).replace(/\.md$/, "") };
}

/** Of these steps the first; of each of their modes, where the names of all that are numbered have the letter of one. */
export function firstStepsAmong(files: readonly string[], from: string): readonly FirstStep[] {
  const steps = files.filter((path) => path.endsWith(".md") && !resumesRun(path));
  const alike = steps.filter((path) => languageOf(path) === languageOf(from));
  const inOrder = (alike.length > 0 ? alike : steps).toSorted(
    (one, other) => place(one) - place(other) || partOf(one) - partOf(other),
  );
  const [first] = inOrder;
  if (first === undefined) return [];
  const numbered = inOrder.filter((path) => numeralOf(path) !== undefined);
  const modes = new Map<string, FirstStep>();
  for (const path of numbered.toReversed()) {
    const letter = modeOf(path);
    modes.set(letter, { path, label: KNOWN_MODES.get(letter) ?? letter });
  }
  const isKnown = [...modes.keys()].every((letter) => KNOWN_MODES.has(letter));
  const areModes = modes.size > 1 && !modes.has("") && (isKnown || modes.size < numbered.length);
  if (areModes) return [...modes.values()].toReversed();
  return [{ path: first, label: nameOf(folderOf(first)) }];
}

/** Of `01-5-cup.md`, which comes behind `01-pot.md`, the 5. */
function partOf(path: string): number {
  return Number(/^\D{0,8}\d{1,3}[-_](\d{1,2})(?=[-_.])/.exec(nameOf(path))?.[1] ?? 0);
}

/** Numbers first, in their order. */
function place(path: string): number {
  return Number.parseFloat(numeralOf(path) ?? "1000");
}
