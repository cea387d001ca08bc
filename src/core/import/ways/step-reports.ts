import { MAX_NAMES } from "../words/body-tokens.js";
import { type ImportFindings, named } from "../source/findings.js";
import {
  type FirstStep,
  type ModeBeside,
  isFirstStep,
  listedIn,
  listsInOrder,
  namesNumbered,
} from "./first-steps.js";
import { whyAbsent } from "../source/left-out.js";
import type { SourceText } from "../source/source-text.js";
import { type SourceTree, folderOf, isEntryName, nameOf } from "../source/source-tree.js";
import {
  isNumberedStep,
  isStepFile,
  nearestStep,
  numeralOf,
  resumesRun,
  stepsBelow,
} from "../source/step-files.js";
import type { NamedStep } from "../words/step-names.js";

/** Says of a text that it names more files than are looked at. */
export function tellOfNames(path: string, line: number, findings: ImportFindings): void {
  const what = `names more than ${MAX_NAMES} files: no ways were looked for from this line on`;
  findings.add("warning", path, line, what);
}

/** Says of a text what keeps it from being read as it is meant. */
export function tellOfText(
  path: string,
  { problem, unclosed, body }: SourceText,
  isDocument: boolean,
  findings: ImportFindings,
): void {
  if (problem !== undefined) findings.add("warning", path, 1, `the front matter ${problem}`);
  if (unclosed !== undefined) {
    const what = "opens a block of code that is never closed: what follows was read as text";
    findings.add("warning", path, unclosed, what);
  }
  if (body.every(({ text }) => text.trim() === "")) {
    const severity = isDocument ? "error" : "warning";
    findings.add(severity, path, 0, "is empty: write below its front matter what is to be done");
  }
}

/** Says of a name that it is no file's of the source. */
export function tellOfOutside(path: string, line: number, name: string, findings: ImportFindings): void {
  const what = `${named(name)} leaves the directory that is imported: it was left as it is`;
  findings.add("warning", path, line, what);
}

/** Says of a file of the workflow's own folder that it is none of those that came along. */
export function tellOfGone(path: string, line: number, name: string, findings: ImportFindings): void {
  const what = `names ${named(name)} of its own folder, which is not at hand: a run finds no such file, and writes none there`;
  findings.add("note", path, line, what);
}

/** Says of a step that takes up a run that it is none here. */
export function tellOfResumed(path: string, findings: ImportFindings): void {
  const what = "is left out: Interlock itself goes on with a run that was interrupted";
  findings.add("note", path, 0, what);
}

/** Says of a way that it leads out of the workflow. */
export function tellOfWorkflow(path: string, line: number, to: string, findings: ImportFindings): void {
  const isWorkflow = isEntryName(nameOf(to)) || isNumberedStep(to);
  const what = isWorkflow
    ? "another workflow: import it and run it after this one"
    : "which lies outside of the workflow: it comes along, and is carried out within the step";
  findings.add("note", path, line, `leads on to ${named(to)}, ${what}`);
}

/** Says of a way that it stands in code alone. */
export function tellOfCode(path: string, line: number, to: string, findings: ImportFindings): void {
  const what = `leads on to ${named(nameOf(to))} in a block of code alone: it was taken for the way on`;
  findings.add("warning", path, line, what);
}

/** Says of a mode's first step that the document, which names it or not, was given a way to it. */
export function tellOfMode(
  { path, label, isNamed }: ModeBeside,
  document: string,
  findings: ImportFindings,
): void {
  const why = isNamed ? "which the document names" : "which nothing leads to";
  const what = `begins the mode ${named(label)}, ${why}: a way from ${named(nameOf(document))} was added`;
  findings.add(isNamed ? "note" : "warning", path, 0, what);
}

/** Says of "Step 3" in a step that names files which one it may be. */
export function tellOfNumber(
  path: string,
  line: number,
  { text, steps }: NamedStep,
  findings: ImportFindings,
): void {
  if (steps.length === 0) return;
  const what = `says ${named(text)}, which may be ${listed(steps)}: the step names files, so no edge was made`;
  findings.add("note", path, line, what);
}

/** Says of a document that all its ways have conditions, and that it was given one more. */
export function tellOfFirst(document: string, first: string, findings: ImportFindings): void {
  const what = `leads to later steps alone, each under a condition: a way to the first of them, ${named(nameOf(first))}, was added`;
  findings.add("warning", document, 0, what);
}

/** Says of a document that leads to no first step which ones were taken; where it names them in a list or a table, there is nothing to choose. */
export function tellOfAssumed(
  tree: SourceTree,
  path: string,
  steps: readonly FirstStep[],
  findings: ImportFindings,
): void {
  if (steps.every((step) => namesNumbered(tree.text(path), step.path))) {
    return tellOfBegin(path, 0, steps, findings);
  }
  const folders = new Set(steps.map((step) => named(folderOf(step.path) || ".")));
  const modes = steps.length > folders.size ? ", for each mode" : "";
  const what = `names no first step: the first of ${[...folders].join(" and ")} was taken${modes}`;
  findings.add("warning", path, 0, what);
}

/** Says of a document that names its steps which of them it begins with. */
function tellOfBegin(
  path: string,
  line: number,
  steps: readonly FirstStep[],
  findings: ImportFindings,
): void {
  const names = listed(steps.map((step) => nameOf(step.path)));
  const what = `names its steps, and does not say where they begin: ${names} was taken`;
  findings.add("note", path, line, what);
}

/** Says of a circle of steps that it was given an end. */
export function tellOfCircle(path: string, findings: ImportFindings): void {
  findings.add("warning", path, 0, "goes round in a circle without an end: a way to an end was added here");
}

/** Says of a name that it is no step's, or that of several. */
export function reportName(
  path: string,
  line: number,
  { text, steps }: NamedStep,
  findings: ImportFindings,
): void {
  const is = steps.length === 0 ? "is no step of this workflow" : `may be ${listed(steps)}`;
  findings.add("warning", path, line, `names ${named(text)}, which ${is}: no edge was made. Name the file`);
}

/** Says of a step that was named in words that are not known, or in those of another language, that it is led to. */
export function tellOfTaken(
  tree: SourceTree,
  path: string,
  { to, line, label, isSaid }: TakenWay,
  findings: ImportFindings,
): void {
  const step = named(nameOf(to));
  if (isSaid) findings.add("note", path, line, `leads on to ${step} in another language`);
  else if (isBegin(tree, path, to)) tellOfBegin(path, line, [{ path: to, label }], findings);
  else {
    const what = `names ${step} in words that are not known to lead there: it was taken for a way on`;
    findings.add("warning", path, line, what);
  }
}

/** Whether a step is where a document that is none itself has its steps begin: the first of its folder, or one above others in a list. */
function isBegin(tree: SourceTree, document: string, to: string): boolean {
  if (isStepFile(tree, document) || numeralOf(to) === undefined) return false;
  const lines = listedIn(tree.text(document));
  const isAbove = (step: string): boolean => listsInOrder(lines, to, step);
  return isFirstStep(tree, to, document) || stepsBelow(tree, folderOf(document)).some(isAbove);
}

interface TakenWay {
  readonly to: string;
  readonly line: number;
  readonly label: string;
  readonly isSaid: boolean;
}

/** Of a step that is led to by a name that is nearly its own, and by nothing else. */
export function takenInPlace(to: string): string {
  return `${named(nameOf(to))} was taken in the place of what is not there: nothing else leads to it`;
}

/** Says of a step that nothing known is said of it where other ways lead on. */
export function tellOfUnsaid(path: string, line: number, to: string, findings: ImportFindings): void {
  const what = `names ${named(nameOf(to))} in words that are not known: no way was made, as others lead on`;
  findings.add("note", path, line, what);
}

/**
 * Of the steps behind one that names none after it the first, with a word on why, which wants no look where the lists of the workflow's
 * document have it below that one; undefined, with one as well, where several have its number.
 */
export function takeNext(
  path: string,
  next: readonly string[],
  lines: string,
  findings: ImportFindings,
): string | undefined {
  const [first] = next;
  if (first === undefined) return undefined;
  const twins = next.filter((file) => numeralOf(file) === numeralOf(first)).map(nameOf);
  const isOne = twins.length === 1;
  const what = isOne
    ? `: ${named(nameOf(first))} was taken, by its number`
    : `, and ${twins.slice(0, 5).map(named).join(", ")} may be: no edge was made`;
  const isListed = isOne && listsInOrder(lines, path, first);
  findings.add(isListed ? "note" : "warning", path, 0, `names no step after it${what}`);
  return isOne ? first : undefined;
}

/** Says of a step that a line leads to that it is not there, with what is like it. */
export function reportMissing(
  tree: SourceTree,
  path: string,
  line: number,
  target: string,
  findings: ImportFindings,
): void {
  if (resumesRun(target)) return;
  const near = nearestStep(tree, path, target);
  const hint = near === undefined ? "" : `; ${named(near)} is like it`;
  findings.add("warning", path, line, `names ${named(target)}, which ${whyAbsent(tree, target)}${hint}`);
}

function listed(steps: readonly string[]): string {
  return steps.slice(0, 5).map(named).join(", ");
}
