import { cutText } from "../../text.js";
import { type SourceLine, withoutMarks } from "../source/source-text.js";

/** A line that says when what stands below it is done: "**If it is cold:**", "IF C:", "**Otherwise:**", "### If it is cold". */
const CONDITION = /^[-\s\d.)]{0,8}(?:if|when|unless|otherwise|else|wenn|falls|sonst)(?![\w-])[^\n]{0,200}:$/i;
const MAX_CONDITION_CHARS = 400;
/** Of a long one the beginning: what the line itself says has room behind it. */
const MAX_WORDS = 120;
const ITEM = /^\s*(?:-|\d{1,2}[.)])\s/;
/** What stands below a line that is no item, as deep as it: items, and what an arrow leads to. */
const BELOW = /^\s*(?:-\s|\d{1,2}[.)]\s|→|->|=>|[⇒⟶⟹➔➜➡])/;

/** "### If it is cold": all that stands in its section. */
const HEADING = /^\s{0,3}(#{1,6})\s/;
const SECTION =
  /^(?:\d[\d.]{0,6}\)?\s)?(?:(?:if|unless|wenn|falls)|(?:when|otherwise|else|sonst)(?!\s(?:to|not)\s))(?![\w-])[^\n]{0,200}$/i;

/** `<check if="it is cold">`, and what stands before its end. */
const OPENS_TAG =
  /^\s{0,40}<([\w-]{1,40})\s[^<>]{0,200}?\b(?:if|when|condition|test)=(?:"([^"]{1,200})"|'([^']{1,200})')[^<>]{0,200}(?<!\/)>/i;
const MAX_TAGS = 20;

interface Tag {
  readonly name: string;
  readonly words: string;
}

interface Condition {
  readonly words: string;
  readonly indent: number;
  readonly isItem: boolean;
}

/** What a heading of a level says of all that stands below it. */
interface Section {
  readonly words: string;
  readonly level: number;
}

/** The condition that each line stands under, by the line's number. */
export function conditionsAbove(body: readonly SourceLine[]): ReadonlyMap<number, string> {
  const above = new Map<number, string>();
  let section: Section | undefined;
  let condition: Condition | undefined;
  let isSameText = false;
  const tags: Tag[] = [];
  const lastEnds = endsOfTags(body);
  for (const { number, text, isCode } of body) {
    if (text.trim() === "") {
      isSameText = false;
      continue;
    }
    if (!isCode) passTags(tags, text, (name) => (lastEnds.get(name) ?? 0) > number);
    const words = withoutMarks(text.slice(0, MAX_CONDITION_CHARS));
    const level = isCode ? undefined : HEADING.exec(text)?.[1]?.length;
    if (level !== undefined)
      section = sectionAt(words, level) ?? (isWithin(section, level) ? section : undefined);
    const indent = text.length - text.trimStart().length;
    if (!isCode && CONDITION.test(words)) {
      condition = { words: cutText(words, MAX_WORDS), indent, isItem: ITEM.test(text) };
      isSameText = level === undefined;
      continue;
    }
    if (
      condition !== undefined &&
      (isCode || level !== undefined || !isBelow(condition, text, indent, isSameText))
    )
      condition = undefined;
    const holds = condition?.words ?? tags.at(-1)?.words ?? section?.words;
    if (holds !== undefined && level === undefined && !isCode) above.set(number, holds);
  }
  return above;
}

/** The last line that each tag ends in, by its name: one that has no end holds of nothing. */
function endsOfTags(body: readonly SourceLine[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { number, text, isCode } of body) {
    if (isCode || !text.includes("</")) continue;
    for (const [, name = ""] of text.slice(0, MAX_CONDITION_CHARS).matchAll(/<\/([\w-]{1,40})>/g))
      ends.set(name, number);
  }
  return ends;
}

/** Opens and closes the tags that a line begins or ends: one that the line closes itself holds of that line, which says so. */
function passTags(tags: Tag[], text: string, isEnded: (name: string) => boolean): void {
  const [whole = "", name = "", double = "", single = ""] = OPENS_TAG.exec(text.slice(0, 600)) ?? [];
  const isClosed = text.slice(whole.length).includes(`</${name}>`);
  if (whole !== "" && !isClosed && isEnded(name) && tags.length < MAX_TAGS)
    tags.push({ name, words: `if ${cutText(double || single, MAX_WORDS)}:` });
  const last = tags.at(-1);
  if (whole === "" && last !== undefined && text.includes(`</${last.name}>`)) tags.pop();
}

/** The section that a heading begins, where it says when. */
function sectionAt(words: string, level: number): Section | undefined {
  return SECTION.test(words)
    ? { words: `${cutText(words.replace(/:$/, ""), MAX_WORDS)}:`, level }
    : undefined;
}

function isWithin(section: Section | undefined, level: number): boolean {
  return section !== undefined && level > section.level;
}

/** Whether a line stands below a condition: deeper, what it introduces, or the same text without a blank line between. */
function isBelow(condition: Condition, text: string, indent: number, isSameText: boolean): boolean {
  if (indent > condition.indent) return true;
  if (indent < condition.indent) return false;
  if (isSameText && !ITEM.test(text)) return true;
  return !condition.isItem && BELOW.test(text);
}
