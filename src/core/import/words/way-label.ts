import { ASIDE, GOES, MAX_WORDS, PAGE, answerOf, sentenceIn } from "./line-words.js";
import { withoutMarks } from "../source/source-text.js";

/** How a way is called, and when it is taken. */
interface WayLabel {
  readonly label: string;
  readonly condition?: string;
  readonly isDefault: boolean;
}

/**
 * `IF C: …`, `**[C] Continue**`, `If it is ready …, load …`: when a way is taken, in the words of the step. `at` is where the line
 * names the step: of several conditions the one right before it holds.
 */
export function labelOf(line: string, at: number): WayLabel {
  const text = withoutMarks(line.slice(0, MAX_WORDS));
  const from = Math.max(at - MAX_WORDS, 0);
  const before = line.slice(from, at);
  const condition = text.length > MAX_CONDITION ? wordsNear(line, at) : text;
  const part = withoutMarks(before.split(" | ").at(-1) ?? "");
  const letter = MENU_ITEM.exec(text)?.[1] ?? PART_OF_MENU.exec(part)?.[1] ?? chosenIn(text, part);
  if (letter !== undefined) return { label: letter, condition, isDefault: letter === "C" };
  const behind = line.slice(at);
  const label =
    (isWayBack(part, behind) ? "back" : inlineCase(before, line)) ??
    (from === 0 ? answerOf(before) : undefined) ??
    caseOf(before, behind.slice(0, MAX_WORDS), from === 0);
  if (label !== undefined) return { label, condition, isDefault: false };
  return {
    label: "next",
    isDefault: /\bnext\b|^(?:read fully|default)\b|immediately|without delay/i.test(text),
  };
}

function isWayBack(part: string, behind: string): boolean {
  const hasOwnCase = BEHIND_ANOTHER.test(part.replaceAll(PAGE, "¶")) && OWN_BEHIND.test(behind);
  return !hasOwnCase && BACK.test(ownClause(part));
}

function inlineCase(before: string, line: string): string | undefined {
  const words = SEVERAL.test(line) ? INLINE_WORDS.exec(before) : null;
  const found = (INLINE_CASE.exec(before) ?? words)?.[1];
  return found?.replaceAll(/[*`]/g, "").trim();
}

/** What is said of when: before the step's name, behind it, or, in a line that begins here, before an arrow. */
function caseOf(before: string, behind: string, isWhole: boolean): string | undefined {
  const lead = withoutMarks(before.replace(LINK, ""));
  const label = whenOf(lead, withoutMarks(behind)) ?? (isWhole ? CASE.exec(lead)?.[1]?.trim() : undefined);
  if (label === "") return "otherwise";
  const shown = label?.replace(/[\s=–—-]{1,8}$/, "");
  return shown !== undefined && SAYS.test(shown) ? shown : undefined;
}

/** Of "- → `x.md`" and "it is cold --> `x.md`" the dashes say nothing. */
const SAYS = /[\p{L}\p{N}\p{So}]/u;
/** "otherwise [the cup](./x.md)": what a link is called says nothing of when, where it is no case itself. */
const LINK =
  /\[(?!\s?(?:if|when|unless|otherwise|else|wenn|falls|sonst)\b)[^[\]]{1,80}\]\((?:[\w.{}@/-]{0,80}\/)?$/i;

/** Where what is said of another way, or done before, ends: "return to `x.md`, else go to", "return the cup, and load". */
const OWN_CLAUSE =
  /[.!?;]\s|,\s(?:and\s)?then\s|(?<![\w-])(?:else|otherwise|sonst)(?![\w-])|¶|,\s(?:and|or|und|oder)\s(?=(?:load|go|proceed|continue|move|read|follow|start|open)s?\b)/gi;
/** "`x.md`, `y.md` §2 (the pot) or `z.md`", each name a ¶: what is said of one of them is said of all. */
const LISTED = /¶(?:\s?§\s?[\w.]{1,8})?[^\w¶]{0,6}(?:(?:and|or|und|oder)\b[^\w¶]{0,6})?(?=¶|$)/gi;

/** "Return to `x.md` (or `y.md` if it is warm)": the second one's case is no return. */
const BEHIND_ANOTHER = /¶[^\w¶.!?;]{0,6}(?:or|oder)\b[^\w¶.!?;]{0,6}(?:\[[^[\]]{1,80}\]\([./]{0,6})?$/i;

/** What a line says of the step that stands right behind `before`. */
function ownClause(before: string): string {
  const said = before.replaceAll(PAGE, "¶").replaceAll(ASIDE, " ").replaceAll(LISTED, " ");
  return said.slice([...said.matchAll(OWN_CLAUSE)].at(-1)?.index ?? 0);
}

/** What is said of a way is read at a glance, by a model and in a timeline. */
const MAX_CONDITION = 300;
const MAX_LEAD = 180;

/** Of a longer line the sentence that names the step, or what stands right before it. */
function wordsNear(line: string, at: number): string {
  const lead = line.slice(Math.max(at - MAX_WORDS, 0), at);
  const begin = [...lead.matchAll(/[.!?;]["'`*)]{0,4}\s/g)].at(-1);
  const own = lead.slice(begin === undefined ? 0 : begin.index + begin[0].length);
  const words = withoutMarks(own.slice(-MAX_LEAD) + line.slice(at, at + MAX_CONDITION));
  return words.slice(0, MAX_CONDITION);
}

/** What the last condition before a step's name says, else one behind it in the same sentence. */
function whenOf(lead: string, rest: string): string | undefined {
  const said = lead
    .replaceAll(ASIDE, " ")
    .replaceAll(QUESTION, " ")
    .replaceAll(ATTRIBUTE, "if $1, ")
    .replaceAll(ELSE_TAG, "$1, ");
  const isOfIt = (at: number): boolean =>
    !OF_ANOTHER.test(said.slice(0, at)) || /\bin (?:which|that) case\b/i.test(said.slice(at));
  const all = [...said.matchAll(CONDITION)];
  const before = all.filter(({ 0: word, index }) => OTHERWISE.test(word) || isOfIt(index));
  const behind = sentenceIn(rest).split(OR_ELSE)[0] ?? "";
  const isInTurn = before.at(-1) !== all.at(-1) && OWN_BEHIND.test(behind);
  const last = isInTurn
    ? undefined
    : (before.findLast(([word]) => !/^(?:after|once)/i.test(word)) ?? before.at(-1));
  const [found] = last === undefined ? behind.replaceAll(ASIDE, " ").matchAll(CONDITION) : [last];
  const words = found?.[1]
    ?.replaceAll(/\s+/g, " ")
    .trim()
    .replace(/[.,;\s]{1,20}$/, "")
    .replace(VERB_AT_END, "")
    .replace(/^([^()]*)\)$/, "$1");
  const isOther = OTHERWISE.test(found?.[0] ?? "");
  if (isOther && DONE_OTHERWISE.test(beforeVerb(words ?? ""))) return "otherwise";
  if (words === "" && !isOther) return undefined; // "when:", and a list below
  if (words === undefined || (last === undefined && words.includes(".md"))) return undefined; // it is another one's
  return /^unless/i.test(found?.[0] ?? "") && isOwn(said, last) ? `unless ${words}` : words;
}

/** "Run `x.md`, or proceed to the next pot if it is cold": the case is that of the second. */
const OR_ELSE =
  /,\s(?:or|oder)\s(?=(?:else\s)?(?:load|go|proceed|continue|move|read|follow|start|open|run|skip|return|end|stop|exit)\b)/i;
/** "Return to `x.md` if it fails, …": when stands behind the way that it is of. */
const OF_ANOTHER = /\.md["')\]]{0,4}\s$/;
/** "After the check load `x.md` if it is warm, `y.md` if it is cold": each has its own behind it. */
const OWN_BEHIND = /^\S{1,200}\s(?:only\s)?(?:if|when|unless|wenn|falls)\s/i;
/** "If it is warm go to X": where no comma parts a case from what is done. */
const VERB_AT_END =
  /(?<=\S)(?:\sthen)?\s(?:go(?:es)?(?: back| on)? to|goto|proceed to|continue (?:to|with)|return to|jump to|skip to|move (?:on )?to|load)$/i;

/** What stands before the word of a text that leads on; the whole text where none does. */
function beforeVerb(words: string): string {
  return words.slice(0, GOES.exec(words)?.index ?? words.length);
}

/** Whether no other step stands before a condition in its sentence: "go to `x.md` unless it is cold, in that case to `y.md`". */
function isOwn(said: string, condition: RegExpMatchArray | undefined): boolean {
  const before = said.slice(0, condition?.index ?? 0);
  return !/\.md(?![^.!?;]*[.!?;]\s)/.test(before);
}

/** What a user may say: "What if we …" */
const QUESTION = /["“][^"“”\n]{1,80}\b(?:if|when|unless)\b[^"“”\n]{0,80}["”]/gi;
/** `<action if="it is cold">`, `<if condition="it is cold">`, `<else>` */
const ATTRIBUTE = /(?:<[\w-]{1,40}\s)?\b(?:if|when|condition|test)=["']([^"'<>]{1,80})["']>?/gi;
const ELSE_TAG = /<(else|otherwise)>/gi;
/** "Anything else" and "or else" are no other case, and what is "based upon" something is none. */
const CONDITION =
  /(?<![\w-]|\b(?:any|every|some|no)(?:thing|one|body|where)\s(?=else)|\b(?:or|what|who)\s(?=else)|\b(?:based|built|agreed|decided|depend(?:s|ing|ent)|rel(?:y|ies|ying)|act(?:s|ing)?)\s(?=upon))(?:if|el(?:se?)?if|when|wenn|falls|unless|upon|otherwise|else(?!\sif)|sonst|after|once)(?![\w-])\s*((?:(?![-=]>|[.!?;]\s|\.md["')\]]{0,4}\s(?:otherwise|else|sonst)\b)[^:→,]){0,60})/gi;
const OTHERWISE = /^(?:otherwise|else|sonst)/i;
/** "Otherwise proceed directly to X": what stands behind the word is what is done, and no case. */
const DONE_OTHERWISE =
  /^(?:(?:just|simply|directly|then|please|you|we|can|may|must|should|will|with|mit)(?:\s|$)){0,3}$/i;
/** `ready-for-dev` → … */
const CASE =
  /^(?:[-\s\d.)]|\uFE0F|\u20E3){0,8}((?:(?![-=]>)[^→:.;\s])(?:(?![-=]>)[^→:.;]){0,59}?)\s{0,4}(?:→|->|=>)[\s\p{L}\p{N}_,:]{0,60}(?:\[\[[\w-]{0,40}:?)?$/u;
/** "`draft` → `x.md`, `ready`/`begun` → `y.md`": which of them it is stands in marks right before each arrow. */
const INLINE_CASE =
  /(?:^|[:,;]\s{1,3})(`[^`\n]{1,40}`(?:\s?(?:[/,|]|or|oder)\s?`[^`\n]{1,40}`){0,5})\s{0,4}(?:→|->|=>)\s{0,4}[`*"'([\s]{0,6}(?:[\w-]{1,40}:)?$/;
/** "Gate: approve → `x.md`; revise → `y.md`": of several, a few words behind a colon or a semicolon, and an arrow. */
const SEVERAL = /(?:→|->|=>)[^→;]{0,200};[^→;]{0,200}(?:→|->|=>)/;
const INLINE_WORDS =
  /[:;]\s{1,3}([\p{L}\d<>=≤≥][\p{L}\d /%<>=≤≥–-]{0,30}?)\s{0,4}(?:→|->|=>)\s{0,4}[`*"'([\s]{0,6}(?:[\w./{}-]{0,80}\/)?$/u;
/** `T = weigh | C = save, then load …` */
const PART_OF_MENU = /^\s?([A-Z])\s?=/;

/** `IF C: …`, `[C] Continue: …`, `1) …` at the beginning of a line, or behind its number. */
const MENU_ITEM =
  /^[-\s]{0,8}(?:\d{1,2}\.\s{1,3})?(?:(?:IF|If|if|SI|Si|si|SE|Se|se|WENN|Wenn|wenn|FALLS|Falls|falls)\s+)?[[('"]?([A-Z]\d?|[1-9])(?:\]|['"](?=\s\(|:))?\s*(?:\([^)]{0,60}\)|[Ss]elected|[Cc]hosen)?\s*(?:[:：—)\]]|→|->|=>)/;
/** `After user selects 'C'`, `ONLY WHEN [C continue option] is selected`, `WHEN C is selected`. */
const CHOSEN =
  /\b(?:selects?|chooses?|picks?|types?|presses|when|option)\s+(?:the\s+)?['"[]{0,2}([A-Z]|\d{1,2})\b(?:['"\]]| continue option| is (?:selected|chosen)|(?<=(?:picks?|types?|presses) [A-Z])(?=,))/i;
/** "If user selects 'A', stay. If 'C', load": in a sentence of its own. */
const IF_CHOSEN = /(?:^|[.;]\s{1,3})(?:if|when)\s{1,3}['"[]([A-Z])['"\]]/gi;

/** The letter that is chosen where a way is taken: the one of the sentence that names it, where several are. */
function chosenIn(text: string, part: string): string | undefined {
  const own = [...part.matchAll(IF_CHOSEN)].at(-1)?.[1];
  return own ?? CHOSEN.exec(text)?.[1];
}

/** "Return here" and "fall back to" lead on, as "return, and I'll load" does. */
const BACK =
  /\b(?:return(?!\s(?:here|and I)\b)|go back|loop back|(?<!\b(?:fall|falls|falling|fell)\s)back to|zurück|restart|re-?run)\b(?!-\w)/i;
