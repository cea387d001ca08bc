import { kindOf } from "./step-files.js";

/** A way from one step file to another, as the source says it. */
export interface SourceEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly condition?: string;
  readonly isDefault: boolean;
  /** All that the line says, where it is one of the body. */
  readonly words?: string;
}

/** Of two lines that say the same way: a menu's letter over any other words, the default if one says so. */
export function better(known: SourceEdge, other: Omit<SourceEdge, "from" | "to">): SourceEdge {
  const isLetter = (label: string): boolean => label.length === 1;
  const isPlain =
    (known.label === "next" && other.label !== "next") || (!isLetter(known.label) && isLetter(other.label));
  const condition = known.condition ?? other.condition;
  const words = known.words ?? other.words;
  return {
    from: known.from,
    to: known.to,
    label: isPlain ? other.label : known.label,
    ...(condition === undefined ? {} : { condition }),
    isDefault: known.isDefault || other.isDefault,
    ...(words === undefined ? {} : { words }),
  };
}

/** Of a way that says no condition, beside others: the words of its line. */
export function conditionOf(edge: SourceEdge, isAlone: boolean): string | undefined {
  return edge.condition ?? (isAlone || edge.isDefault ? undefined : edge.words);
}

const ORDER_WORDS = /\bafter\b/i;
const CHOICE_WORDS = /\b(?:if|when|unless|otherwise|select\w*|choose\w*|wenn|falls)\b/i;

/**
 * The ways without those from the document to a later step that it only names in their order: the document leads to the first step as
 * well, and the steps lead on from there. `isFirst` tells whether a step is the first of its kind or a list, or to be chosen.
 */
export function withoutSkips(
  edges: readonly SourceEdge[],
  document: string,
  isFirst: (path: string) => boolean,
): readonly SourceEdge[] {
  const starts = edges.filter(({ from, to }) => from === document && isFirst(to));
  const isSkip = ({ from, to, label, condition = "", isDefault }: SourceEdge): boolean => {
    if (from !== document || isDefault || label.length === 1 || label === "back" || isFirst(to)) return false;
    const isPlain = condition === "" || (ORDER_WORDS.test(condition) && !CHOICE_WORDS.test(condition));
    return isPlain && starts.some((start) => kindOf(start.to) === kindOf(to) && leads(edges, start.to, to));
  };
  return edges.filter((edge) => !isSkip(edge));

  function leads(ways: readonly SourceEdge[], from: string, to: string): boolean {
    const reached = new Set([from]);
    for (const path of reached)
      for (const way of ways) if (way.from === path && way.to !== document) reached.add(way.to);
    return reached.has(to);
  }
}
