import { addToList } from "../../add-to-list.js";
import { SENDS, isPassedOver, leadsByColon } from "./directives.js";
import { ASIDE } from "./line-words.js";
import { isBelow, isPlaceholder } from "../source/references.js";
import { type SourceLine, withoutMarks } from "../source/source-text.js";
import { type SourceTree, folderOf, nameOf } from "../source/source-tree.js";
import { languageOf, numeralOf, resumesRun, stepsBelow } from "../source/step-files.js";

/** A step that a line names otherwise than by a path. */
export interface NamedStep {
  /** As the line has it. */
  readonly text: string;
  readonly at: number;
  /** `name` is what its file or its title is called; `number` is "Step 3", or a title in a sentence: both may be parts of a step as well. */
  readonly form: "name" | "number";
  /** The steps that are called so, the nearest ones: none where no step is, several where it is ambiguous. */
  readonly steps: readonly string[];
}

const WORD =
  /(?<![\p{L}\p{M}\w./@{}\\#-])[\w-]{2,120}(?:\.\d{1,2}(?:-[\w-]{1,80})?)?(?![\p{L}\p{M}\w/}\\-]|\.\w)/gu;
const NUMBERED_NAME = /^step[-_]?(?:[a-z]-)?(\d{1,3}(?:\.\d{1,2})?[a-z]?)(?:-[a-z])?$/i;
const STEP_LIKE = /^step-(?:[a-z]-)?\d{1,3}(?:\.\d{1,2})?[a-z]?-\w/i;
const IN_WORDS = /\bstep\s{1,3}(\d{1,3}(?:\.\d{1,2})?[a-z]?)\b(?!\]\(#)/gi;
const MARKED = /(?:\*\*|["'`“„«])([^*"'`“”„«»]{2,80})(?=\*\*|["'`“”»])/g;
const AFTER_STEP = /\bstep\s{1,3}([A-Z][^.;,:()*"'`\n]{1,79})/g;
const CONTINUES_TO =
  /\b(?:[Cc]ontinue|[Pp]roceed|[Mm]ove|[Gg]o)s?\s{1,3}(?:on\s)?(?:to|with)\s{1,3}(?:the\s)?([A-Z][^.;,:()[\]*"'`\n]{1,79})/g;
/** What leads to a name that stands right after it, or after a few words. */
const LEADS = new RegExp(
  String.raw`(?<![\w-])(?:(?:resume|restart|start|begin)(?: over)? (?:at|from)|re-?(?:run|loop|enter|execute|start|do|visit|visiting)|repeat|back (?:to|into)|hand (?:off|over) to|${SENDS}|trigger|invoke|proceed|continue|go(?:es|ing|to)?|jump|route|return|move|advance|skip|transition|switch|loop|load|read|follow|execute|begin|start|resume|run|enter|next|weiter|fahre|gehe|zurück|lade|folge|beginne|starte)s?\b|→|->|=>|[⇒⟶⟹➔➜➡↩↪]`,
  "gi",
);
/** Between verb and name they make of it what was, or where something stands: "as decided in step-02", "begin building step-01". */
const LEADS_NOT =
  /\b(?:from|in|of|by|at|since|after|until|during|via|as|for|about|than|like|per)\b|\b\w{3,}ing\b/i;
/** "Redirect to the first mode (step-01)" */
const GOES_TO =
  /\b(?:redirect|return|go|back|jump|proceed|continue|move|route)s? to\b[^()[\].;:]{1,60}[([]\s{0,4}$/i;
/** "Run step-02 logic for this file": what of it is done here. */
const OF_IT = /^["'`*)\]]{0,4}(?:'s|’s)?\s(?:logic|checks?|rules?)\b/i;
const MAX_WORDS_BETWEEN = 6;
const MAX_NAMED = 40;

/** The steps of a workflow by what its texts call them. */
export class StepNames {
  private readonly steps: readonly string[];
  private readonly byStem = new Map<string, string[]>();
  private readonly byNumeral = new Map<string, string[]>();
  /** `step-02a-x.md` and `step-02b-y.md` by 2. */
  private readonly lettered = new Map<number, string[]>();
  /** `step-03-cup-of-tea.md` by `step-03-cup`. */
  private readonly byBeginning = new Map<string, string[]>();
  private readonly byTitle = new Map<string, string[]>();

  /** `folder` is the workflow's. */
  constructor(tree: SourceTree, folder: string) {
    this.steps = stepsBelow(tree, folder);
    for (const path of this.steps) {
      const stem = nameOf(path).replace(/\.md$/, "");
      if (/\d/.test(stem) || stem.startsWith("step-")) addToList(this.byStem, stem.toLowerCase(), path);
      for (const beginning of beginningsOf(stem.toLowerCase())) addToList(this.byBeginning, beginning, path);
      const numeral = numeralOf(path);
      if (numeral !== undefined) addToList(this.byNumeral, numeral, path);
      if (numeral !== undefined && /[a-z]/.test(numeral))
        addToList(this.lettered, Number.parseInt(numeral, 10), path);
      if (resumesRun(path)) continue;
      const titles = [plain(stem.replaceAll(/[-_]+/g, " ")), plain(headingOf(tree.text(path)))];
      for (const title of new Set(titles)) if (title.length > 1) addToList(this.byTitle, title, path);
    }
  }

  /** The steps that a text of a front matter is the name of: a stem, `step-03`, `3`. */
  called(text: string, from: string): readonly string[] {
    const numeral = NUMBERED_NAME.exec(text)?.[1] ?? /^\d{1,3}(?:\.\d{1,2})?$/.exec(text)?.[0];
    return this.near(
      this.byStem.get(text.toLowerCase()) ??
        this.byBeginning.get(text.toLowerCase()) ?? // `step-10-c`: of the steps 10 that of its mode
        (numeral === undefined ? undefined : this.numbered(numeral)) ??
        this.byTitle.get(plain(text)),
      from,
    );
  }

  /** What a line of `from` names. */
  in(line: string, from: string): readonly NamedStep[] {
    if (this.steps.length === 0 || line.length > 4_000 || line.trim() === "") return [];
    const found: NamedStep[] = [];
    const take = (text: string, at: number, form: NamedStep["form"], steps: readonly string[]): void => {
      if (found.length < MAX_NAMED && !found.some((other) => other.at === at))
        found.push({ text, at, form, steps });
    };
    for (const { 0: word, index } of line.matchAll(WORD)) {
      const isName = this.byStem.has(word.toLowerCase()) || NUMBERED_NAME.test(word) || STEP_LIKE.test(word);
      const steps = isName ? this.called(word, from) : [];
      if (isName && (steps.length > 0 || !isPlaceholder(word))) take(word, index, "name", steps);
    }
    for (const { 0: words, 1: numeral = "", index } of line.matchAll(IN_WORDS))
      take(words, index, "number", this.near(this.numbered(numeral), from));
    for (const { 0: whole, 1: words = "", index } of [
      ...line.matchAll(MARKED),
      ...line.matchAll(AFTER_STEP),
    ]) {
      const steps = this.near(this.byTitle.get(plain(words)), from);
      if (steps.length > 0) take(words, index + whole.length - words.length, "name", steps);
    }
    for (const { 0: whole, 1: words = "", index } of line.matchAll(CONTINUES_TO)) {
      const steps = this.near(this.byTitle.get(plain(words)), from);
      if (steps.length > 0) take(words.trim(), index + whole.length - words.length, "number", steps);
    }
    return found;
  }

  /** Those of just this number, else those of this number and a letter: one of them is meant. */
  private numbered(numeral: string): readonly string[] | undefined {
    return this.byNumeral.get(plainNumeral(numeral)) ?? this.lettered.get(Number(numeral));
  }

  /** Of several steps that are called so those of the same language and in the same folder, where there are any. */
  private near(called: readonly string[] = [], from: string): readonly string[] {
    const alike = called.filter((path) => languageOf(path) === languageOf(from));
    const steps = alike.length > 0 ? alike : called;
    const beside = steps.filter((path) => folderOf(path) === folderOf(from));
    if (beside.length > 0) return beside;
    const below = steps.filter((path) => folderOf(from) !== "" && isBelow(path, folderOf(from)));
    return below.length > 0 ? below : steps;
  }
}

/** Whether a line leads its reader to what it names, by the words right before it. */
export function leadsTo(
  line: string,
  named: Pick<NamedStep, "at" | "form" | "text">,
  before: string,
): boolean {
  const lead = line
    .slice(Math.max(named.at - 200, 0), named.at)
    .replace(/\[[^\]]{0,120}\]\($/, "")
    .replace(/\[\[$/, "");
  const words = withoutMarks(/^(?!.*->)[\s>*`"'_-]{0,12}$/.test(lead) ? before : lead);
  const open = named.form === "number" || GOES_TO.test(words) ? words.replace(/[([]\s{0,4}$/, "") : words;
  const last = open.replace(/["'“„«]+$/, "").replace(/\s{0,4}:\s{0,4}$/, "");
  if (isPassedOver(lead) || OF_IT.test(line.slice(named.at + named.text.length))) return false;
  const verb = [...last.matchAll(LEADS)].at(-1);
  if (verb === undefined) return leadsByColon(lead) && isAllBehind(line.slice(named.at + named.text.length));
  const between = last.slice(verb.index + verb[0].length).replaceAll(ASIDE, " ");
  if (LEADS_NOT.test(between) || /[.;:!?()[\]|,]/.test(between)) return false;
  return between.split(/\s+/).filter(Boolean).length <= MAX_WORDS_BETWEEN;
}

/** "IF R: return to step 2": what leads back, whatever its answer is called. */
export function goesBack(line: string, { at }: NamedStep): boolean {
  return /\b(?:return(?:s|ing)?|back|loop|re-?(?:run|visit|enter|do))\b[^.;:!?]{0,40}$/i.test(
    line.slice(0, at),
  );
}

/** "Step 1 of the guide", "Step 2 above", and "step 1" where a list of the text has an item 1: no step of the workflow. */
export function isOfOther(
  body: readonly SourceLine[],
  { text: line, number }: SourceLine,
  { at, text }: NamedStep,
): boolean {
  const numeral = /\d{1,3}$/.exec(text)?.[0] ?? "";
  const { items, begin } = partsOf(body);
  const item = items.get(plainNumeral(numeral));
  if (item !== undefined && !isPadded(numeral) && (item < number || number <= begin)) return true;
  const behind = line.slice(at + text.length, at + text.length + 80);
  return /^\s(?:of|in|from|on|above|below|under)\b(?!\s(?:this|the)\s(?:workflow|skill|process))/i.test(
    behind,
  );
}

/** Behind an answer and a step no more is said: of "Yes: Step 3 has it" it is told. */
function isAllBehind(rest: string): boolean {
  return /^["'`*_)\]]{0,4}(?:\s?\([^()]{0,80}\))?["'`*_)\]]{0,4}[.;,]?\s{0,4}$/.test(rest);
}

/**
 * Whether a text has a part of its own that is called so: "Step 3" is then that one. Of "step 03" a part 3 is none, and from
 * amid the parts, nobody goes back to one that comes after `line`.
 */
export function hasPart(
  body: readonly SourceLine[],
  { text, form }: NamedStep,
  line: number,
  isBack: boolean,
): boolean {
  const numeral = /\d{1,3}(?:\.\d{1,2})?[a-z]?$/i.exec(text)?.[0] ?? "";
  const called = isPadded(numeral) ? "(?:step 0{0,2}|0{1,2})" : "(?:step )?0{0,2}";
  const isPart =
    form === "number" && /^step\s/i.test(text)
      ? new RegExp(
          String.raw`^${called}${plainNumeral(numeral).replace(".", String.raw`\.`)}(?:[.:)—–\s-]|$)`,
          "i",
        )
      : undefined;
  const wanted = plain(text);
  const { tags, headings, begin } = partsOf(body);
  if (form === "number" && tags.some((tag) => tag.includes(`n="${numeral}"`))) return true;
  return headings.some(
    (heading) =>
      (!isBack || heading.number < line || line <= begin) &&
      (isPart === undefined ? plain(heading.text) === wanted : isPart.test(heading.text)),
  );
}

/** "step 03" */
function isPadded(numeral: string): boolean {
  return /^0\d/.test(numeral);
}

/** The lines that a text's parts begin with, looked for once: a text may name many steps. */
interface Parts {
  readonly tags: readonly string[];
  readonly headings: readonly SourceLine[];
  /** The numbers of items, "1. Pour", "- Step 2: Taste", and the line of the first that has each. */
  readonly items: ReadonlyMap<string, number>;
  /** The line of the first part that has a number. */
  readonly begin: number;
}
const knownParts = new WeakMap<readonly SourceLine[], Parts>();

const ITEM = /^\s{0,12}(?:[-*]\s\**step\s)?0{0,2}(\d{1,3})[.):]/i;

function partsOf(body: readonly SourceLine[]): Parts {
  const known = knownParts.get(body);
  if (known !== undefined) return known;
  const lines = body.filter(({ isCode }) => !isCode);
  const items = lines.toReversed().flatMap(({ text, number }) => {
    const numeral = ITEM.exec(text)?.[1];
    return numeral === undefined ? [] : [[numeral, number] as const];
  });
  const headings = lines
    .filter(({ text }) => /^\s{0,3}(?:#{1,6}\s|\*\*)/.test(text))
    .map((line) => ({ ...line, text: withoutMarks(line.text.slice(0, 300)) }));
  const numbered = headings.find(({ text }) => /^\d/.test(text));
  const parts = {
    items: new Map(items),
    tags: lines.map(({ text }) => text).filter((text) => /^\s{0,12}<step\b/.test(text)),
    headings,
    begin: Math.min(numbered?.number ?? Infinity, items.at(-1)?.[1] ?? Infinity),
  };
  knownParts.set(body, parts);
  return parts;
}

function plainNumeral(numeral: string): string {
  return numeral.toLowerCase().replace(/^0+(?=\d)/, "");
}

/** A title without its number: `Step 3 of 5: The Cup` as `the cup`. */
function plain(title: string): string {
  return withoutMarks(title.slice(0, 300))
    .toLowerCase()
    .replace(/^(?:step )?(?:[a-z]-?)?\d{1,3}(?:\.\d{1,2})?[a-z]?(?: of \d{1,3})?\b[\s.:)—–-]*/, "")
    .trim();
}

/** Of a name like `step-03-cup-of-tea` what it may be called for short: not its number alone. */
function beginningsOf(stem: string): readonly string[] {
  const words = stem.slice(0, 120).split("-");
  const beginnings = words.map((_word, index) => words.slice(0, index).join("-"));
  return beginnings.filter((beginning) => STEP_LIKE.test(beginning));
}

function headingOf(text: string): string {
  return /^#{1,3}\s{1,4}([^\n]{1,200})/m.exec(text.slice(0, 8_000))?.[1] ?? "";
}
