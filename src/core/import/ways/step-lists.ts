import { ASIDE, sentenceIn } from "../words/line-words.js";
import { isFirstStep, listedIn } from "./first-steps.js";
import { References, tokensOf } from "../source/references.js";
import { type SourceEdge, withoutSkips } from "./source-edge.js";
import {
  type SourceLine,
  type SourceText,
  readSource,
  variablesFor,
  withoutMarks,
} from "../source/source-text.js";
import { type SourceTree, folderOf, workflowBeside } from "../source/source-tree.js";
import { comesBefore, isStepFile, kindOf } from "../source/step-files.js";
import type { StepNames } from "../words/step-names.js";

/** What the lists of a document say of the order of its steps: "1. `step-01-pot.md`: …", "2. `step-02-brew.md`: …". */
export interface ListedSteps {
  /** The steps that lists begin with, and their lines. */
  readonly firsts: ReadonlyMap<string, number>;
  /** The lines of those that come after another one: the document does not lead there itself. */
  readonly later: ReadonlySet<number>;
  /** The steps of lists that do not go through them: one is chosen. */
  readonly choices: ReadonlySet<string>;
  /** The step that comes after a step. */
  readonly after: ReadonlyMap<string, string>;
}

const ITEM = /^(\s{0,12})(?:-|\d{1,3}[.)])\s/;
/** "4. Load `step-01.md`": a list that begins with something else begins nowhere. */
const LATER_ITEM = /^\s{0,12}(?:[2-9]|\d{2,3})[.)]\s/;
/** One of the items is chosen: they are alternatives. */
const CHOICE = /\b(?:if|when|unless|otherwise|wenn|falls|sonst)\b|\[[A-Z]\]/i;
const CHOICE_BEFORE = /\b(?:or|either|option|choose|select|mode|oder)\b/i;
const ASKS =
  /\?|\b(?:choose|select|option|menu|one of|wähle)|^\W{0,12}(?:based|depending) on\b|^\W{0,12}je nach\b/i;
/** "- **complete** → Load and execute X": a case, and what is done in it. "- Step 1 → load X" is none. */
const CASE_BEFORE =
  /^\s*-[^→\d]{1,80}?(?:→|->|=>)[^→]{0,60}\b(?:load|read|follow|execute|run|go|start|begin|lade|folge|lies)\b/i;

/** A numbered list of so many steps in their order is no menu. */
const SEQUENCE = 3;

interface Item {
  readonly step: string;
  /** One of several to choose from, by what the line says to the end of the sentence with the step. */
  readonly isChoice: boolean;
  /** It says so behind the step alone. */
  readonly isChosenBehind: boolean;
  readonly line: SourceLine;
}

const NOTHING: ListedSteps = { firsts: new Map(), later: new Set(), choices: new Set(), after: new Map() };

/** The lists of the documents that lead into a workflow's steps: the entry's, and the `workflow.md` beside a longer `SKILL.md`. */
export class StepLists {
  private readonly byDocument = new Map<string, ListedSteps>();
  /** What the documents have in lists and tables. */
  readonly lines: string;

  constructor(tree: SourceTree, document: string, workflow: SourceText, names: StepNames) {
    const folder = folderOf(document);
    for (const path of new Set([document, workflowBeside(document)])) {
      if (!tree.has(path)) continue;
      const source = path === document ? workflow : readSource(tree.text(path));
      const references = new References(tree, folder, path, variablesFor(source, workflow));
      this.byDocument.set(path, listedSteps(tree, path, source.body, references, names));
    }
    this.lines = [...this.byDocument.keys()].map((path) => listedIn(tree.text(path))).join("\n");
  }

  in(document: string): ListedSteps {
    return this.byDocument.get(document) ?? NOTHING;
  }

  /** The step that comes after a step by one of the lists. */
  after(step: string): string | undefined {
    for (const { after } of this.byDocument.values()) if (after.has(step)) return after.get(step);
    return undefined;
  }

  /** The ways without those that pass over steps: whatever the documents say of the order, they lead to where steps begin. */
  withoutSkips(tree: SourceTree, edges: readonly SourceEdge[]): readonly SourceEdge[] {
    let kept = edges;
    for (const [document, { choices, firsts }] of this.byDocument) {
      const isFirst = (path: string): boolean =>
        choices.has(path) || firsts.has(path) || isFirstStep(tree, path, document);
      kept = withoutSkips(kept, document, isFirst);
    }
    return kept;
  }
}

/** The lists of a document that go through its steps, from the first on. */
function listedSteps(
  tree: SourceTree,
  document: string,
  body: readonly SourceLine[],
  references: References,
  names: StepNames,
): ListedSteps {
  const firsts = new Map<string, number>();
  const later = new Set<number>();
  const choices = new Set<string>();
  const after = new Map<string, string>();
  const itemOf = (line: SourceLine, isAsked: boolean): Item | undefined => {
    const text = line.text.slice(0, 400);
    const found = stepIn(tree, document, text, references, names);
    if (found === undefined) return undefined;
    const said = text.slice(0, found.end) + sentenceIn(text.slice(found.end));
    const words = withoutMarks(said).replaceAll(ASIDE, " ");
    const lead = text.slice(0, found.at);
    const isCase =
      isAsked ||
      CHOICE.test(lead.replaceAll(ASIDE, " ")) ||
      CHOICE_BEFORE.test(lead) ||
      CASE_BEFORE.test(lead);
    const isChoice = isCase || CHOICE.test(words);
    return { step: found.step, isChoice, isChosenBehind: isChoice && !isCase, line };
  };
  for (const items of listsIn(body, itemOf)) {
    const isInOrder = isSequence(tree, items, document);
    for (const [index, { step, line }] of items.entries()) {
      if (!isInOrder) {
        choices.add(step);
        continue;
      }
      const next = items[index + 1];
      if (index > 0) later.add(line.number);
      else if (!LATER_ITEM.test(line.text)) firsts.set(step, line.number);
      if (next !== undefined && !after.has(step)) after.set(step, next.step);
    }
  }
  return { firsts, later, choices, after };
}

/** The items of each list that name a step; a list ends at a line that is neither blank, an item nor indented below one. */
function listsIn(
  body: readonly SourceLine[],
  itemOf: (line: SourceLine, isAsked: boolean) => Item | undefined,
): readonly (readonly Item[])[] {
  const lists: Item[][] = [];
  let list: Item[] = [];
  let indent: number | undefined;
  let isAsked = false;
  let before = "";
  for (const line of body) {
    const at = line.isCode ? undefined : ITEM.exec(line.text)?.[1]?.length;
    if (at === undefined && /^\S/.test(line.text)) indent = undefined;
    else if (at !== undefined && indent === undefined) {
      indent = at;
      isAsked = ASKS.test(before);
      list = [];
      lists.push(list);
    }
    const item = at !== undefined && at === indent ? itemOf(line, isAsked) : undefined;
    if (item !== undefined) list.push(item);
    if (line.text.trim() !== "") before = line.text.slice(0, 400);
  }
  return lists.filter(({ length }) => length > 1);
}

/** The first step that a line names. */
function stepIn(
  tree: SourceTree,
  document: string,
  text: string,
  references: References,
  names: StepNames,
): { readonly step: string; readonly at: number; readonly end: number } | undefined {
  for (const token of tokensOf(text)) {
    const target = references.resolve(token.text);
    if (target.kind === "file" && isStepFile(tree, target.path))
      return { step: target.path, at: token.at, end: token.at + token.text.length };
  }
  const named = names.in(text, document).find(({ form, steps }) => form === "name" && steps.length === 1);
  const [step] = named?.steps ?? [];
  if (named === undefined || step === undefined) return undefined;
  return { step, at: named.at, end: named.at + named.text.length };
}

/**
 * Whether these are the steps of one folder and mode in their order, and none of them is a choice: from the first on, or so many
 * in a numbered list. There "4. `step-04.md` - render it when asked for" tells of a step, where not all say so.
 */
function isSequence(tree: SourceTree, items: readonly Item[], document: string): boolean {
  const [first] = items;
  if (first === undefined) return false;
  const isNumbered = items.length >= SEQUENCE && items.every(({ line }) => /^\s*\d/.test(line.text));
  const isMenu =
    !isNumbered || first.isChoice || items.filter(({ isChoice }) => isChoice).length > items.length / 2;
  if (items.some(({ isChoice, isChosenBehind }) => isChoice && (isMenu || !isChosenBehind))) return false;
  if (items.some(({ step }) => kindOf(step) !== kindOf(first.step))) return false;
  if (!isNumbered && !isFirstStep(tree, first.step, document)) return false;
  return items.every(({ step }, index) => index === 0 || comesBefore(items[index - 1]?.step ?? "", step));
}
