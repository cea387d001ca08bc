import { cutText } from "../text.js";
import { withoutMarks } from "./directives.js";
import type { SourceLine } from "./source-text.js";

/** A line that says when what stands below it is done: "**If it is cold:**", "IF C:", "**Otherwise:**". */
const CONDITION =
  /^[-•\s\d.)]{0,8}(?:if|when|unless|otherwise|else|wenn|falls|sonst)(?![\w-])[^\n]{0,200}:$/i;
const MAX_CONDITION_CHARS = 400;
/** Of a long one the beginning: what the line itself says has room behind it. */
const MAX_WORDS = 120;
const ITEM = /^\s*(?:[-*+•]|\d{1,2}[.)])\s/;
/** What stands below a line that is no item, as deep as it: items, and what an arrow leads to. */
const BELOW = /^\s*(?:[-*+•]\s|\d{1,2}[.)]\s|→|->|=>|[⇒⟶⟹➔➜➡])/;

/** The condition that each line stands under, by the line's number. */
export function conditionsAbove(body: readonly SourceLine[]): ReadonlyMap<number, string> {
  const above = new Map<number, string>();
  let condition: { readonly words: string; readonly indent: number; readonly isItem: boolean } | undefined;
  for (const { number, text, isCode } of body) {
    if (text.trim() === "") continue;
    const words = withoutMarks(text.slice(0, MAX_CONDITION_CHARS));
    const indent = text.length - text.trimStart().length;
    if (!isCode && CONDITION.test(words)) {
      condition = { words: cutText(words, MAX_WORDS), indent, isItem: ITEM.test(text) };
      continue;
    }
    const isBelow =
      condition !== undefined &&
      !isCode &&
      (indent > condition.indent || (indent === condition.indent && !condition.isItem && BELOW.test(text)));
    if (!isBelow) condition = undefined;
    if (condition !== undefined) above.set(number, condition.words);
  }
  return above;
}
