import { isDenied } from "./denials.js";
import { GOES, MAX_WORDS, OPENS, PAGE, answerOf, sentenceIn } from "./line-words.js";
import { deniedElsewhere, leadsOnElsewhere } from "./other-languages.js";
import { rowOf } from "./menu-rows.js";
import { type SourceLine, withoutMarks } from "../source/source-text.js";
import type { Token } from "../source/references.js";
import { labelOf } from "./way-label.js";

/** What a line says about a file that it names. */
export type Directive =
  /** The workflow goes on there. */
  | {
      readonly kind: "go";
      readonly label: string;
      readonly condition?: string;
      readonly isDefault: boolean;
      /** All that the line says. */
      readonly words: string;
      readonly isFromAbove?: boolean;
    }
  /** It is used there and then, and the step goes on: data, another skill, a helper of its own. */
  | { readonly kind: "use" }
  /** In a case it is passed over. */
  | { readonly kind: "pass" };

const USE: Directive = { kind: "use" };
const PASS: Directive = { kind: "pass" };

/** Before what it leads to, or right behind what it comes from: of "`x.md` holds the table leaf→pot" neither. */
const ARROW = /→|->|=>|[⇒⟶⟹➔➜➡↩↪]/;
/** "the IDE→file table" */
const BETWEEN_LETTERS = /(?<=\p{L})(?:→|->|=>)(?=\p{L})/gu;
const ARROW_BEHIND = new RegExp(`^[\`*"')\\]>]{0,4}\\s{0,4}(?:${ARROW.source})`);
/** "Load `x.md` as reference for the mapping": it is read beside the step. Of "follow `x.md` for context" it is what the step is for. */
const READS = /\b(?:load|loads|loading|read|reads|reading|open|lade|lädt|lies)\b[^.;]{0,40}$/i;
const FOLLOWED =
  /\b(?:follow|follows|execute|executes|go|goto|continue|proceed|run|start|begin)\b[^.;]{0,40}$/i;
const AS_MATERIAL =
  /^[`*"')\]>]{0,4},? (?:only )?(?:as|for) (?:a |an |the |your )?(?:\w+ )?(?:reference|context|background|guidance|template|example)\b/i;
/** "Redirect the user to", "send them on to", "pass control to". */
export const SENDS = String.raw`(?:(?:redirect|divert|forward|delegate|send|branch|drop)s?|pass(?:es)? (?:control|on|over))(?: (?:the (?:user|guest|work|run|flow|task)|them|on|over|back)){0,2} (?:in)?to`;
/** `[the cup](` before its path */
const LINK = String.raw`(?:\[[^[\]]{1,80}\]\()?`;
/** Words that lead on where what they lead to stands right behind them: elsewhere they tell of something. */
const GOES_RIGHT = [
  new RegExp(
    String.raw`(?<!\b(?:that|which)\s)\b(?:back (?:to|into)|hand(?:s|ing)? (?:control )?(?:off|over)(?: control)? to|transfers?(?: control)? to|navigates? (?:back )?to|heads? (?:back )?to|falls? back (?:to|on)|escalates? to|${SENDS}|triggers?|invokes?|performs?|repeats?|redo|re-?runs?|re-?enters?|revisits?|carry on (?:with|at)|work through)(?: the| step)?\s{1,3}${LINK}${OPENS}`,
    "i",
  ),
  new RegExp(String.raw`(?:^|[\s,])öffnet?(?: nun| jetzt| die| das)?\s{1,3}${OPENS}`, "i"),
];
/** "## Next step", and below it nothing but what it is. "Next steps for the team" and "Next step if rejected" say more. */
const NEXT_HEADING =
  /^\s{0,3}#{1,6}\s[^\p{L}]{0,8}(?:next|(?:next|nächste[rs]?)\s(?:step|phase|stage|part|file|schritt|teil|datei))[\s:*]{0,4}$/iu;
/** "If rejected: `./step-02-x.md`", "[R] Again: `./step-02-x.md`": where nothing is told of it. */
const STANDS_ALONE = [
  new RegExp(
    String.raw`(?<![\w-])(?:if|when|unless|otherwise|else|wenn|falls|sonst)(?![\w-])(?![^:]{0,120}\b(?:use|see|consult|check|apply|fill|copy|create|write)\b)[^:→.;]{0,120}:[\s*]{0,4}${LINK}${OPENS}`,
    "i",
  ),
  new RegExp(String.raw`^[-\s*]{0,8}\[[A-Z]\][^:→]{0,80}:[\s*]{0,4}${LINK}${OPENS}`),
  new RegExp(String.raw`^[-\s*]{0,8}(?:and )?then[\s*]{0,3}:[\s*]{0,4}${LINK}${OPENS}`, "i"),
  new RegExp(String.raw`^[-\s*]{0,8}(?:\[[A-Z]\d?\]|[A-Z]\d?[\s*]{0,3}[:：])[\s*]{0,4}${LINK}${OPENS}`),
];
/** "`./step-02-x.md` has it", "… is the source" */
const TOLD_BEHIND =
  /^[`*"')\]>]{0,4}\s{1,3}(?:is|are|was|were|has|have|had|does|will|can|may|must|should|says?|holds?|contains?|lists?|tells?|gives?|shows?|names?|defines?|describes?)\b/i;
/** "C → `./step-02-x.md`", "[S] `./step-03-x.md`", "✗ → …": short as it is, it says when. */
const SHORT_CASE = /^(?:-\s?)?(?:\[[\p{L}\d]{1,2}\]|(?:[\p{L}\d]{1,2}|\p{So}\uFE0F?)\s?(?:→|->|=>|[:：]))/u;
/** "[Previous: the pot](./step-01-pot.md) | …", "← [Pot](./step-01-pot.md)": where a reader comes from. */
const PREVIOUS =
  /^[\s>*_`"'([-]{0,12}(?:(?:←|⬅\uFE0F?|⟵|«|◀\uFE0F?|<-|<<)[\s*_`"'([]{0,8}(?!.*\b(?:back|return|go|zurück)\b)|(?:previous|prev|prior|vorheriger?|précédente?|anterior|上一步|前へ)(?![\p{L}-]))[^.;|]{0,120}$/iu;
const BACK_LINK =
  /^[\s>*_-]{0,8}(?:(?:←|⬅\uFE0F?|«)\s?)?\[(?:(?:←|⬅\uFE0F?|«)\s?)?(?:back|zurück|retour)\]\($/iu;
/** What parts the links of a line for those who leaf through the steps. */
const NEXT_LINK = /\s[|·•—–]\s|\s{3,}|\t/;
const NEVER =
  /\b(?:never|not|nie|niemals|nicht|don['’]t|(?:must|should)n['’]t|forbidden|avoid|without|instead of|rather than|before)\b[^.;:!?]{0,80}$/i;
const EXAMPLE = /\b(?:example|for instance|e\.g)\b|\blast (?:element|step)\b.{0,20}\bis\b/i;
/** "(see X for rules)": it tells of the file, whatever else the line does. */
const TOLD =
  /(?:\b(?:see|refer to|according to|siehe|laut|completion of|(?:applied|resolved|set|loaded|defined|described|documented|listed|computed|captured|acquired|recorded|established|produced|written|consumed|used|generated|migrated|checked|handled|made|needed|required) (?:by|in|from|at)|per)|\((?:see|siehe|cf\.)\s[^()]{0,120}|§ ?[\w.]{1,8} (?:of|in))\s{1,3}(?:the\s)?(?:`[\w-]{1,80}`\s)?[`*"'([]{0,4}(?:[\w.{}/-]{0,80}\/)?$/i;
/** "Re-run the checks from X": what stands in it is done here. "Re-run the workflow from X" leads there. */
const DONE_HERE =
  /\b(?:re-?run|run|apply|re-?apply|re-?use) the (?!(?:\w+ )?(?:workflow|process|flow|loop|cycle|work)\b)[^.,;:!?()]{1,60} from\s{1,3}[`*"'([]{0,4}(?:[\w.{}/-]{0,80}\/)?$/i;
/** "Continue with the step described in X", "see X and follow it": what is told of is where the line leads. */
const TOLD_AS_WAY =
  /\b(?:continue|proceed|go|move|advance|follow|execute|run|carry out|begin|start|perform)\b[^.;:!?()]{0,60}\b(?:step|phase|workflow|instructions|process|procedure)\b,? (?:(?:that|which) (?:is|are) |as )?(?:defined|described|documented|listed|written|set) (?:in|at|by|from)\s{1,3}(?:the )?\S{0,100}$/i;
/** "If `x.md` was skipped, load …": of the first it is told when the second is taken. */
const IN_CONDITION = new RegExp(
  String.raw`(?<![\w-])(?:if|when|unless|once|until|after|because|since|wenn|falls|sobald|nachdem)\s(?:(?:the|both) )?${OPENS}`,
  "i",
);
const TOLD_IN_CONDITION = new RegExp(
  String.raw`^[\`*"')\]>]{0,4}\s{1,3}(?:(?:fail|pass|succeed|end|finish|complete|report|return|produce|find)(?:s|ed|es)?|found)(?![\w-])`,
  "i",
);
/** "When `x.md` is ready, load it" */
const LED_TO_BEHIND =
  /^[^.;!?]{0,120}\b(?:load|open|read|follow|execute|(?:re-?)?run|(?:re)?start|begin|continue|proceed|go|return|repeat)\s(?:(?:back|to|with|at|fully|and|there|follow)\s){0,4}(?:it|them|there|that|this|the (?:file|step))(?![\w-])/i;
const AND_FOLLOWED =
  /^[`*"')\]>]{0,4},? (?:and|then|and then) (?:follow|execute|run|continue|proceed|go on|start|begin)\b/i;
const HELPER = /\bsub-?(?:agent|process|task)s?\b|\bworkers?\b|\btask tool\b|\bin parallel\b|\bspawn/i;

/**
 * What the line says of what it names at `token`; `before` is the line above it that is not empty, `above` the condition that it
 * stands under.
 */
export function directiveOf(line: SourceLine, token: Token, before: string, above = ""): Directive {
  if (line.isCode) return USE;
  const text = line.text.trim();
  if (text.startsWith("|")) {
    const row = rowOf(text, token, line.text.slice(0, token.at));
    return row === undefined ? USE : { kind: "go", ...row, isDefault: false };
  }
  const named = namedIn(line, token, before);
  const { isAlone, said, lead } = named;
  if (isPassedOver(lead)) return PASS;
  if (!leadsOn(named) || isExample(line, token, isAlone ? said : undefined) || isOnlyTold(named)) return USE;
  const all = withoutMarks(said.slice(0, MAX_WORDS));
  const own = isAlone ? labelOf(said, said.length) : labelOf(line.text, token.at);
  const isPlain = own.label === "next" && own.condition === undefined && above !== "";
  const way = isPlain ? { ...labelOf(`${above} ${text}`, above.length), isFromAbove: true } : own;
  return { kind: "go", ...way, words: all };
}

/** A place where a line names something, and what is said around it. */
interface NamedPlace {
  /** The line has nothing else in it. */
  readonly isAlone: boolean;
  /** The line above it that is not empty. */
  readonly before: string;
  /** The line; of one that has nothing else in it, with the one above. */
  readonly said: string;
  /** What stands before the name: of one alone, the line above. */
  readonly lead: string;
  /** What stands before and behind the name in its line. */
  readonly ownLead: string;
  readonly behind: string;
  /** The sentence that names it, without the names of pages. */
  readonly words: string;
}

function namedIn(line: SourceLine, token: Token, before: string): NamedPlace {
  const text = line.text.trim();
  const around = withoutMarks(text.replace(token.text, "").slice(0, MAX_AROUND));
  const isAlone = around.length < 4 && !SHORT_CASE.test(around);
  const said = isAlone && !/^\s*#/.test(before) ? `${before} ${text}` : text;
  const ownLead = line.text.slice(0, token.at);
  return {
    isAlone,
    before,
    said,
    lead: isAlone ? before : ownLead,
    ownLead,
    behind: line.text.slice(token.at + token.text.length),
    words: withoutName(withoutPagesIn(isAlone ? said : sentenceAt(line.text, token)), token),
  };
}

/** Whether anything that is said leads to what is named. */
function leadsOn({ isAlone, before, lead, ownLead, behind, words }: NamedPlace): boolean {
  return (
    (isAlone && NEXT_HEADING.test(before)) ||
    GOES.test(words) ||
    [lead, ownLead].some((part) => ARROW.test(part.replaceAll(BETWEEN_LETTERS, " "))) ||
    ARROW_BEHIND.test(behind) ||
    GOES_RIGHT.some((form) => form.test(lead)) ||
    (!TOLD_BEHIND.test(behind) && leadsByColon(lead))
  );
}

/** Whether what is named is told of after all: as material, as where somebody comes from, in a condition, as what is not done. */
function isOnlyTold({ said, lead, behind }: NamedPlace): boolean {
  if (AS_MATERIAL.test(behind) && READS.test(lead) && !FOLLOWED.test(lead)) return true;
  if (isPrevious(lead) || isInCondition(lead, behind) || isDenied(lead, NEVER) || HELPER.test(said))
    return true;
  const isTold = TOLD.test(lead) || DONE_HERE.test(lead);
  return isTold && !TOLD_AS_WAY.test(lead) && !AND_FOLLOWED.test(behind);
}

/**
 * The sentence that names something; of a long one what stands near. One that says no more, "You find it at `x.md`", goes on with
 * what the one before it says.
 */
function sentenceAt(text: string, { at, text: name }: Token): string {
  const lead = text.slice(Math.max(at - MAX_WORDS, 0), at);
  const behind = sentenceIn(text.slice(at + name.length, at + name.length + MAX_WORDS));
  const [own = 0, before = 0] = [...lead.matchAll(SENTENCE_END)].map(({ index }) => index).toReversed();
  const words = withoutMarks(lead.slice(own) + behind).match(/[\p{L}\p{N}]+/gu) ?? [];
  return lead.slice(words.length > MAX_BARE_WORDS ? own : before) + name + behind;
}

/** "For example load `x.md`", "(e.g. `x.md`)": what a line has in brackets beside it, or in another sentence, is none of it. */
function isExample(line: SourceLine, token: Token, said?: string): boolean {
  if (said !== undefined || BEGINS_EXAMPLE.test(line.text)) return EXAMPLE.test(said ?? line.text);
  return EXAMPLE.test(sentenceAt(line.text, token).replace(token.text, "¶").replaceAll(ASIDE_OF_IT, " "));
}
const BEGINS_EXAMPLE = /^[\s>*_#-]{0,8}(?:for )?examples?\b/i;
const ASIDE_OF_IT = /\([^()¶]{0,200}\)/g;

const MAX_BARE_WORDS = 4;
const SENTENCE_END = /(?<!\b(?:e\.g|i\.e|vs|etc|no|cf))[.!?;]["')*_`]{0,4}\s{1,3}(?=["'(*_`[]{0,4}\p{Lu})/gu;

/** Whoever has so much beside a name says something of it. */
const MAX_AROUND = 400;

const LINKED = /\[[^[\]]{1,80}\]\(/g;
/** "`x.md`, `y.md` and `z.md` are ready": what is told of one of them is told of all. */
const LISTED_BEFORE =
  /(?:[\w./{}@-]{1,200}\.md[`*"')\]>]{0,4},?\s(?:(?:and|or|und|oder)\s)?[`*"'([<]{0,4}){1,20}$/i;
const LISTED_BEHIND =
  /^(?:[`*"')\]>]{0,4},?\s(?:(?:and|or|und|oder)\s)?[`*"'([<]{0,4}[\w./{}@-]{1,200}\.md){1,20}/i;

/** Whether a line names something only in saying when it leads elsewhere. */
function isInCondition(lead: string, behind: string): boolean {
  const before = lead.slice(-MAX_LINK).replaceAll(LINKED, "").replace(LISTED_BEFORE, "");
  const told = behind.slice(0, MAX_LINK).replaceAll(LINKED, "").replace(LISTED_BEHIND, "");
  if (!IN_CONDITION.test(before) || LED_TO_BEHIND.test(told)) return false;
  return TOLD_BEHIND.test(told) || TOLD_IN_CONDITION.test(told);
}

const PASSES_OVER = new RegExp(
  String.raw`\b(?:skip|bypass)(?:s|es|ping|ing)?(?: (?:over|past|the|both|steps?|phase|file)){0,3}\s${OPENS}`,
  "i",
);

/** Whether what a line names is passed over there: "skip `x.md` and go to `y.md`". "Skip to `y.md`" leads there. */
export function isPassedOver(lead: string): boolean {
  return PASSES_OVER.test(lead.slice(-MAX_LINK).replaceAll(LINKED, "").replace(LISTED_BEFORE, ""));
}

/** What is longer is no link for those who leaf through. */
const MAX_LINK = 600;

/** Whether what a line names is only where its reader comes from: what is done with it is not said. */
function isPrevious(lead: string): boolean {
  const link = withoutPagesIn(lead.slice(-MAX_LINK).split(NEXT_LINK).at(-1) ?? "");
  return BACK_LINK.test(link) || (PREVIOUS.test(link) && !GOES.test(link) && !ARROW.test(link));
}

/** Whether a line's beginning leads to what stands alone behind it: an answer, a case or an item of a menu, and a colon. */
export function leadsByColon(lead: string): boolean {
  return answerOf(lead) !== undefined || STANDS_ALONE.some((form) => form.test(lead));
}

function withoutName(text: string, token: Token): string {
  return text.replaceAll(token.text, " ");
}

function withoutPagesIn(text: string): string {
  return text.replaceAll(PAGE, " ");
}

const knownWords = new WeakMap<SourceLine, string>();

/** A line without the names of pages: it is asked for each of them. */
function withoutPages(line: SourceLine): string {
  const words = knownWords.get(line) ?? withoutPagesIn(line.text);
  knownWords.set(line, words);
  return words;
}

/** `nextStepFile: …`, `step_file = …` */
const ASSIGNED =
  /^[\s`*-]{0,8}(?:\w{0,40}(?:[a-z][A-Z]|_)\w{0,40}[`*]{0,3}\s{0,4}:|[\w-]{1,80}[`*]{0,3}\s{0,4}=)/;

/** English and German words: a line that has one, and none that leads on, tells of what it names. */
const UNDERSTOOD =
  /\b(?:the|and|of|with|from|when|this|that|using|see|is|are|was|by|for|der|das|und|von|mit|aus|ist|siehe|für)\b/i;

/** Whether a line says nothing of what it names that is known: no word that leads there, and none against it. */
export function wordsUnknownAt(line: SourceLine, token: Token, before: string): boolean {
  const lead = line.text.slice(0, token.at);
  if (line.text.trim().startsWith("|") || ASSIGNED.test(lead) || isPrevious(lead)) return false;
  const text = withoutName(withoutPages(line), token);
  const isUnderstood = UNDERSTOOD.test(text) && !leadsOnElsewhere(text); // "for" and "das" are Portuguese as well
  return (
    !isUnderstood &&
    ![GOES, ARROW, EXAMPLE].some((words) => words.test(text)) &&
    !HELPER.test(line.text) &&
    !isDenied(lead, NEVER) &&
    !deniedElsewhere(lead) &&
    directiveOf(line, token, before).kind === "use"
  );
}

/** "`step-01.md` §1 (first look) → §2 → `step-02.md`", "step-01 then loads `step-02.md`", "`step-01.md` through `step-03.md`" */
const TO = String.raw`(?:\s?\([^()]{0,80}\))?(?:\s{0,4}(?:→|->|=>)\s{0,4}|\s(?:(?:then|itself|in turn)\s)?(?:through|thru|bis|(?:load|read|open|start|trigger|invoke|execute)s|(?:lead|go|proceed|continue|route|return|jump|skip|move)s (?:on |back )?(?:to|with))\s)`;
const CHAINED = new RegExp(
  String.raw`(?:^|[\s\`*"'([/])((?:[\w-]{1,120}(?:\.\d[\w-]{0,80})?\.md)|(?:step[-_]?(?:[a-z]-)?\d[\w-]{0,80}(?:\.\d[\w-]{0,80})?))[\`*"')\]]{0,4}(?:\s?§\s?[\w.]{1,8})?${TO}(?:§\s?[\w.]{1,8}${TO}){0,3}[\`*"'([./]{0,4}$`,
  "i",
);

/** Of "`step-01` → `step-02`" at the second the first, without `.md`: the way to the second is its own. */
export function chainedTo(line: string, at: number): string | undefined {
  return CHAINED.exec(line.slice(Math.max(at - 240, 0), at))?.[1]?.replace(/\.md$/i, "");
}

const MARKS = "[`*\"'([<]{0,4}(?:[\\w.{}/-]{0,80}/)?$";
/** What stands before a workflow's own document where a line leads back to it, in the same sentence. */
const LEADS_BACK = [
  /\b(?:return|back|zurück)\b[^.,;:!?()]{0,40}\b(?:to|into|zu[mr]?)\b[^.,;:!?()]{0,40}$/i,
  new RegExp(
    `\\b(?:restart|re-?run|re-?open|re-?load|re-?read(?: fully)? and follow)(?: (?:the|this|at|from|with|whole|workflow|fully)){0,4} {0,2}${MARKS}`,
    "i",
  ),
  /\bmenu\b[*`\])]{0,4}(?: ?:)?[^.;:!?()]{0,60}$/i,
];
/** "Re-read `workflow.md` and follow it": without the second it is looked up, and the step goes on. */
const READ_AGAIN = new RegExp(`\\bre-?read(?: (?:the|whole|workflow|fully)){0,4} {0,2}${MARKS}`, "i");
const AND_GONE_THROUGH =
  /^[`*"')\]>]{0,4}(?: (?:fully|again|completely|from the (?:start|top|beginning))){0,2},? (?:and|then|and then) (?:follow|execute|restart|start over|begin again)\b/i;
const ITS_MENU = /^[`*"')\]>]{0,4}(?:'s|’s)? (?:\w{1,20} )?menu\b/i;

/** Whether a line sends its reader back to the workflow's own document, which it names at `token`. */
export function leadsBack({ text, isCode }: SourceLine, { at, text: name }: Token): boolean {
  if (isCode) return false;
  const lead = text.slice(Math.max(at - 300, 0), at).replace(/(?:\.{1,2}\/|\{[\w-]{1,60}\}\/)+$/, "");
  const behind = text.slice(at + name.length);
  return (
    LEADS_BACK.some((words) => words.test(lead)) ||
    ITS_MENU.test(behind) ||
    (READ_AGAIN.test(lead) && AND_GONE_THROUGH.test(behind))
  );
}

/** Whether a line has the steps of a folder carried out. */
export function startsFolder(line: SourceLine): boolean {
  return /\b(?:execute|run|follow|start|begin|work through)\b/i.test(line.text);
}
