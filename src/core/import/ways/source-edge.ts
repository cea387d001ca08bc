import { defined } from "../../defined.js";
import { comesBefore, kindOf } from "../source/step-files.js";

/** A way from one step file to another, as the source says it. */
export interface SourceEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly condition?: string;
  readonly isDefault: boolean;
  /** All that the line says, where it is one of the body. */
  readonly words?: string;
  /** Its condition stands above the line. */
  readonly isFromAbove?: boolean;
}

/**
 * Of two lines that say the same way: a menu's letter over any other words, words of a body over what a key is called, a condition of its
 * own over one above, the default if one says so. That a case goes there at once says nothing of the others, which go there as well.
 */
export function better(known: SourceEdge, other: Omit<SourceEdge, "from" | "to">): SourceEdge {
  const { from, to } = known;
  const isDefault = known.isDefault || other.isDefault;
  const always = [known, other].find(isAlways);
  if (
    always !== undefined &&
    [known, other].some((edge) => edge !== always && (isShortcut(edge) || isBare(edge)))
  )
    return { ...always, from, to, isDefault };
  const isOwn = known.isFromAbove === true && other.condition !== undefined && other.isFromAbove !== true;
  const [first, second] = isOwn ? [other, known] : [known, other];
  const isPlain =
    (first.label === "next" && second.label !== "next") ||
    (isKey(first) && !["next", "back"].includes(second.label) && second.label.length < CUT) ||
    (!isLetter(first.label) && isLetter(second.label));
  const condition = first.condition ?? second.condition;
  const words = first.words ?? second.words;
  const isFromAbove = (first.condition === undefined ? second : first).isFromAbove;
  const label = isPlain ? second.label : first.label;
  return { from, to, label, ...defined({ condition, words, isFromAbove }), isDefault };
}

/** A case of so many characters was cut: it names nothing. */
const CUT = 60;

function isLetter(label: string): boolean {
  return /^(?:.|[A-Z]\d)$/.test(label);
}

/** `altStepFile`, and no more. */
function isKey({ words, condition }: Omit<SourceEdge, "from" | "to">): boolean {
  return words === undefined && condition === undefined;
}

/** `nextStepFile`: the way on in any case. */
function isAlways(edge: Omit<SourceEdge, "from" | "to">): boolean {
  return edge.label === "next" && edge.isDefault && isKey(edge);
}

/** "Proceed to `x.md`" */
function isBare({ label, condition }: Omit<SourceEdge, "from" | "to">): boolean {
  return label === "next" && condition === undefined;
}

/** "If there are no tests, skip this and continue with `x.md`" */
function isShortcut({ label, condition }: Omit<SourceEdge, "from" | "to">): boolean {
  return condition !== undefined && !isLetter(label) && SHORTCUT.test(condition);
}
const SHORTCUT =
  /\b(?:if|when|unless|wenn|falls)\b.{0,200}(?:\bskip\b(?!\sto\b)|\b(?:go|proceed|continue|jump|move)s? (?:directly|straight)\b)/i;

/** No way, or items of a menu whose first one, "C1 Continue", leads on without the name of a file, or what a front matter has for failures. */
export function lacksFirst(edges: readonly SourceEdge[]): boolean {
  return edges.every(({ label }) =>
    /^(?:[A-Z][2-9]|on (?:fail|error|reject|cancel|abort|timeout|retry|no$).{0,20})$/.test(label),
  );
}

/** Of a way that says no condition, beside others: the words of its line. */
export function conditionOf(edge: SourceEdge, isAlone: boolean): string | undefined {
  return edge.condition ?? (isAlone || edge.isDefault ? undefined : edge.words);
}

const ORDER_WORDS = /\bafter\b/i;
const CHOICE_WORDS = /\b(?:if|when|unless|otherwise|select\w*|choose\w*|wenn|falls)\b/i;

/**
 * The ways without those from the document to a later step that it only names in their order: the document leads to an earlier step as
 * well, and the steps lead on from there. `isFirst` tells whether a step is the first of its kind or a list, or to be chosen.
 */
export function withoutSkips(
  edges: readonly SourceEdge[],
  document: string,
  isFirst: (path: string) => boolean,
): readonly SourceEdge[] {
  const after = waysOn(edges, document);
  const isPlain = ({ from, label, condition = "", isDefault }: SourceEdge): boolean =>
    from === document &&
    !isDefault &&
    label.length > 1 &&
    label !== "back" &&
    (condition === "" || (ORDER_WORDS.test(condition) && !CHOICE_WORDS.test(condition)));
  const starts = edges
    .filter((edge) => edge.from === document && (isFirst(edge.to) || isPlain(edge)))
    .map(({ to }) => ({ start: to, reached: reachedFrom(to, after) }));
  const isSkip = (edge: SourceEdge): boolean => {
    const { to } = edge;
    if (!isPlain(edge) || isFirst(to)) return false;
    return starts.some(
      ({ start, reached }) =>
        kindOf(start) === kindOf(to) && reached.has(to) && (isFirst(start) || comesBefore(start, to)),
    );
  };
  return edges.filter((edge) => !isSkip(edge));
}

/** Where each step leads, the way back to the document aside. */
function waysOn(edges: readonly SourceEdge[], document: string): ReadonlyMap<string, readonly string[]> {
  const after = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const known = after.get(from) ?? [];
    if (to !== document) known.push(to);
    after.set(from, known);
  }
  return after;
}

function reachedFrom(step: string, after: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set([step]);
  for (const path of reached) for (const next of after.get(path) ?? []) reached.add(next);
  return reached;
}
