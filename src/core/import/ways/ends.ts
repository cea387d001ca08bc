import { conditionsAbove } from "../words/conditions-above.js";
import { isDenied } from "../words/denials.js";
import { ENDS_WORKFLOW, bareEnd, endingClause, isTold } from "../words/end-clauses.js";
import { isEndValue, waysInFront } from "./front-ways.js";
import { sentenceIn } from "../words/line-words.js";
import { type SourceLine, type SourceText, withoutMarks } from "../source/source-text.js";
import { nameOf } from "../source/source-tree.js";
import { comesBefore } from "../source/step-files.js";

/** A node after which a run may be finished. */
export interface Finish {
  readonly path: string;
  /** The words of the step that say so; absent where the step is known as the last, or nothing says it. */
  readonly condition?: string;
}

/** A way from one node to another. */
interface Way {
  readonly from: string;
  readonly to: string;
  readonly label?: string;
  readonly isDefault?: boolean;
}

const MAX_CONDITION_CHARS = 300;
/** By its name or in its words the last step, whatever it offers to go on with. */
const LAST_NAME =
  /-(?:complete|completion|finish|final|finalize|wrapup|celebrate|results)(?:-[\w-]{1,40})?\.md$/i;
const LAST_WORDS =
  /\bfinal step\b|\bworkflow (?:is )?complet|\blast step\b|\bend of (?:the )?workflow\b(?! (?:step|file))/i;
/** "HALT with status `done`", "HALT (exit code 6)": a halt that names what became of the whole is no question. */
const HALTS =
  /\b(?:halt|stop|exit|end|finish|terminate)\b(?: (?:the )?(?:run|workflow))? (?:(?:with|and (?:set|report|return)) |\()(?:the |an? )?(?:(?:final |exit |terminal )?status|exit code)\b/i;
/** "To HALT with a final status: …" tells how it is done, wherever it is. */
const DEFINED = /(?:^|[.!?:;—–]\s)[-\s\d.)]{0,8}to\s$/i;
/** "End the workflow", "exit the workflow": nothing comes after it. */
const ENDS =
  /(?:^[-\s\d.)]{0,8}|[,;:.→]\s{0,4}|\b(?:and|then)\s)(?:halt|stop|exit|end|finish|terminate|leave) (?:the |this )workflow\b(?! (?:step|file|document))/i;
/** "Otherwise: Workflow complete", "If no mode is left, complete the workflow": one of the ways on is none. */
const COMPLETES =
  /^[-\s\d.)→]{0,8}(?:otherwise|else|if|when|once|unless|sonst|andernfalls|wenn|falls)\b[^:,→]{0,120}[:,→][\s→]{0,4}(?:(?:the |this |der )?workflow (?:is |has |ist )?(?:complete[ds]?|done|finished|over|end(?:s|ed)?|abgeschlossen|beendet)(?![\w-])|(?:complete|finish|end) (?:the |this )?workflow\b(?![- ](?:step|file|document|plan|section|summary|overview|status)))/i;
/** What an item of a menu begins with: `[X]`, `IF X (Exit):`, `If 3:`. */
const LETTER = String.raw`[[(](?:[a-z]\d?|\d{1,2})[\])]|(?:[a-z]\d?|(?<=\bif\s)\d{1,2})(?:\s?\([^()]{1,60}\))?\s?[:)—–]`;
/** An item of a menu, "- IF X: …", "[D] Done - …", "2. **Cancel** → …", "| Cancel | …": one of what a step offers. */
const OFFER = new RegExp(
  String.raw`^[-\s]{0,8}(?:\d{1,2}[.)]\s(?:[^→|:—–]{1,40}\s[—–-]\s)?)?(?:(?:(?:if|wenn|si|se)\s)?(?:${LETTER})|[^→|:]{1,60}(?:→|->|=>)|\|[^|]{1,80}\||(?:(?:not )?approved|rejected|declined|denied|cancel(?:led)?|done|exit|quit|stop(?:ped)?|abort(?:ed)?|abandon(?:ed)?|no|yes|nothing\b[^:]{0,40})\s?:|(?:on|upon|if|when|once)\s[^:→;]{1,80},|(?<=\d[.)]\s[^→|:—–]{1,40}\s[—–-]\s))`,
  "i",
);
const ITEM = new RegExp(
  String.raw`^[-\s]{0,8}(?:\d{1,2}[.)]\s)?(?:if\s)?(?=${LETTER})[[(]?([A-Z]\d?|\d{1,2})`,
  "i",
);
/** Where a clause begins that asks for it: "the process exits", "graceful exit" and "users quit" tell of something. */
const ASKED = String.raw`(?<=(?:^|[.,:;!?)\]"”—–→/&]|\s-|\b(?:and|then|or|just|simply|please|cleanly|gracefully|immediately|politely))\s{0,3})`;
/** "Display the summary and exit", "EXIT Quick Dev.", "[X] Exit - …": what somebody chooses who leaves. */
const LEAVES = new RegExp(
  String.raw`(?:(?=exit|quit)${ASKED}\w{4}|(?<![\p{L}-])(?:quitter|salir|sair|uscire|beenden|verlassen))(?![\p{L}-])(?!\s(?:codes?|status)\b)(?:\s(?!(?:loop|step|section|sub\w*|menu|party|discussion|elicitation|persona|agent|criteri\w+|any|at|when|if|once|until|after|and|et|y|e|und)\b)[\p{L}\p{N}-]{1,20}){0,3}(?=\s?(?:$|[.!;,"”—–(&]|-\s)|\s(?:and|et|y|e|und)\s)`,
  "iu",
);
/** "- [x] Exit criteria are met": done, and nothing to choose. */
const TICKED = /^-\s\[x\]\s/;
/** Behind it, that the step or the workflow goes on: "exit and return to the menu", "exit returns here". */
const STAYS = /\b(?:return|back|continu|resum|re-?display|proceed|restart|retry|again|retour)/i;
/** Before it, that it is a case or a wish: "when they exit, …", "type q to quit". */
const IN_CASE = /\b(?:when|if|once|after|until|before|to|type)\b[^,.:;→]{0,40}$/i;
/** What an offer does: it ends the workflow, and leads to no step. */
const ENDS_IT = new RegExp(
  String.raw`${ENDS_WORKFLOW}|\bthe workflow (?:ends|is (?:over|done|completed?|finished))\b(?![\w-])|(?:→|->|=>)\s?workflow (?:is )?(?:over|done|completed?|finished)\b(?![\w-])`,
  "i",
);
const IS_WHEN = /^[-\s]{0,8}(?:on|upon|if|when|once)\s/i;
const GOES_ELSEWHERE =
  /\.md\b|\{\w{0,60}(?:step|next)\w{0,60}\}|\b(?:if|when|unless|until|before) the workflow\b/i;
/** "On X: keep the rest, go to step 4": a part of this text, or a step. */
const GOES_WITHIN =
  /\b(?:go|proceed|continue|skip|jump|move|return)s? (?:(?:back|on|straight|directly) )?(?:to|with) (?:the )?(?:step|section|part|§)/i;
/** A step that is named otherwise than by its file. */
const STEP = /\bstep[-_ ]?\d|\{\w{0,60}step\w{0,60}\}/i;
/** "End of workflow.", "STOP execution here": of a line that stands under a condition, all that is done. */
const ENDS_THERE = new RegExp(
  String.raw`^[-\s\d.)→]{0,8}(?:<[\w-]{1,20}>)?(?:${ENDS_WORKFLOW}|(?:end of (?:the )?workflow|(?:the |this )?workflow (?:ends|stops)|(?:stop|halt) (?:all )?execution)(?: here| now)?(?=\s{0,2}(?:$|[.!;(–—<])))`,
  "i",
);
/** "Else:", and nothing more. */
const ELSE = /^[-\s\d.)]{0,8}(?:else|otherwise|sonst|andernfalls)\s?:$/i;
const NEVER = /\b(?:never|not|don['’]t|without|before|until)\b[^.;:!?]{0,80}$/i;

/** The steps that are called like a last one, and go on: to none that comes after them by its number. */
export function lastByName(nodes: readonly string[], ways: readonly Way[]): readonly string[] {
  return nodes.filter((path) => {
    const own = ways.filter(({ from }) => from === path);
    return own.length > 0 && LAST_NAME.test(nameOf(path)) && !own.some(({ to }) => comesBefore(path, to));
  });
}

/**
 * The ways to the end beside those that the nodes of `last` have: where a step that goes on says when it does not, what the steps of a
 * circle without an end say of one, else its last node that says that it is the last, and for a circle that says nothing its last node,
 * with `isAdded`.
 */
export function finishesOf(
  nodes: readonly string[],
  ways: readonly Way[],
  last: readonly string[],
  texts: ReadonlyMap<string, SourceText>,
): readonly (Finish & { readonly isAdded: boolean })[] {
  const goesOn = new Set(ways.map(({ from }) => from));
  const whole = nodes.flatMap((path) => {
    const isAsked = goesOn.has(path) && !last.includes(path);
    const own = ways.filter(({ from }) => from === path);
    const leadsOn = own.some(({ to }) => nodes.indexOf(to) > nodes.indexOf(path)); // as they were reached: numbers may be in another order
    const condition = isAsked ? completionIn(texts.get(path), own, leadsOn) : undefined;
    return condition === undefined ? [] : [{ path, condition, isAdded: false }];
  });
  const ends = new Set([
    ...last,
    ...nodes.filter((node) => !goesOn.has(node)),
    ...whole.map(({ path }) => path),
  ]);
  grow(ends, ways);
  const said = nodes.flatMap((path) => {
    const condition = ends.has(path) ? undefined : endIn(texts.get(path));
    return condition === undefined ? [] : [{ path, condition, isAdded: false }];
  });
  for (const { path } of said) ends.add(path);
  const added: (Finish & { readonly isAdded: boolean })[] = [];
  for (;;) {
    grow(ends, ways);
    const endless = nodes.filter((node) => !ends.has(node));
    const isLast = (node: string): boolean => saysLast(texts.get(node)) || onlyReturns(node, nodes, ways);
    const path =
      endless.findLast((node) => saysLast(texts.get(node))) ?? endless.findLast(isLast) ?? endless.at(-1);
    if (path === undefined) return [...whole, ...said, ...added];
    added.push({ path, isAdded: !isLast(path) });
    ends.add(path);
  }
}

/** Whether a step leads to earlier ones alone, each in a case, and none is numbered after it. */
function onlyReturns(path: string, nodes: readonly string[], ways: readonly Way[]): boolean {
  const own = ways.filter(({ from }) => from === path);
  const isReturn = ({ to, label = "next", isDefault }: Way): boolean =>
    isDefault !== true && !["next", "back", "otherwise"].includes(label) && comesBefore(to, path);
  return own.every(isReturn) && !nodes.some((node) => comesBefore(path, node));
}

/** Whether a step says that it is the last one, whatever it leads back to. */
export function saysLast(source: SourceText | undefined): boolean {
  return source?.body.some(({ text }) => LAST_WORDS.test(text)) === true;
}

/** The first line of a step that ends the whole workflow. */
function endIn(source: SourceText | undefined): string | undefined {
  return wordsOf(source?.body.find((each) => isEnd(each)));
}

/** The first line of a step that says when the whole workflow is done; an item of a menu that leads on says what comes of it. */
function completionIn(
  source: SourceText | undefined,
  ways: readonly Way[],
  leadsOn: boolean,
): string | undefined {
  const labels = new Set(ways.flatMap(({ label }) => label ?? []));
  const names = ways.map(({ to }) => nameOf(to));
  const isWay = (line: string): boolean => STEP.test(line) || names.some((name) => line.includes(name));
  const lines = wordsIn(source?.body ?? []);
  const whole = lines.find((words) => completes(words, labels));
  const free = lines.filter((words) => !leadsByItem(words, labels) && ITEM.exec(words)?.[1] !== "C"); // [C] goes on
  const staying = new Set(lines.filter((words) => GOES_WITHIN.test(words)).map(letterOf));
  const front = waysInFront(source?.frontmatter ?? {});
  const inFront = front.find(({ value, when }) => when !== undefined && isEndValue(value))?.when;
  const said =
    inFront ??
    whole ??
    free.map(endingClause).find((clause) => clause !== undefined) ??
    bareEnd(lines, isWay) ??
    lines.findLast(
      (words) => !leadsByItem(words, labels) && !staying.has(letterOf(words)) && leaves(words),
    ) ?? // what is done stands below what is offered
    (leadsOn ? endBelow(source?.body ?? [], labels) : undefined); // one that leads back alone ends in any case
  return said?.slice(0, MAX_CONDITION_CHARS);
}

/** The first line that ends the whole workflow in the case that stands above it, behind that case. */
function endBelow(body: readonly SourceLine[], labels: ReadonlySet<string>): string | undefined {
  const above = conditionsAbove(body);
  return body
    .flatMap(({ number, text }) => {
      const [when, words] = [above.get(number) ?? "", withoutMarks(text)];
      const isEnding = when !== "" && ENDS_THERE.test(words) && !GOES_ELSEWHERE.test(words);
      return isEnding && !leadsByItem(when, labels) ? [`${when} ${words.replace(/^[-\s]+/, "")}`] : [];
    })
    .at(0);
}

/** The lines of a body without marks; "Else:" stands in one with what is below it. */
function wordsIn(body: readonly SourceLine[]): readonly string[] {
  const lines = body.flatMap(({ text, isCode }) => (isCode ? [] : [withoutMarks(text)])).filter(Boolean);
  return lines.flatMap((line, index) => {
    if (ELSE.test(line)) return [];
    const above = lines[index - 1] ?? "";
    return ELSE.test(above) ? [`${above} ${line.replace(/^-\s/, "")}`] : [line];
  });
}

/** The letter that a line says something of: `[X] Exit`, `On X: go to step 4`; the line itself where it has none. */
function letterOf(words: string): string {
  return ITEM.exec(words)?.[1] ?? /^[-\s]{0,8}(?:on|upon|when)\s([A-Z])\s?:/i.exec(words)?.[1] ?? words;
}

function leadsByItem(words: string, labels: ReadonlySet<string>): boolean {
  return labels.has(ITEM.exec(words)?.[1] ?? "");
}

function completes(words: string, labels: ReadonlySet<string>): boolean {
  if (COMPLETES.test(words)) return true;
  if (leadsByItem(words, labels)) return false;
  const offer = OFFER.exec(words)?.[0];
  const at = offer === undefined ? undefined : ENDS_IT.exec(words)?.index;
  if (offer === undefined || at === undefined || GOES_ELSEWHERE.test(words)) return false;
  const lead = words.slice(0, at);
  // In an offer's own words somebody wants it, or asks for it.
  return !(IS_WHEN.test(offer) && at < offer.length) && !isTold(lead) && !isDenied(lead, NEVER);
}

/** Whether an item of a menu leaves the workflow, whatever it calls it. */
function leaves(words: string): boolean {
  const letter = ITEM.exec(words)?.[0];
  if (letter === undefined || [TICKED, STEP, GOES_ELSEWHERE].some((form) => form.test(words))) return false;
  const found = LEAVES.exec(words) ?? HALTS.exec(words);
  if (found === null) return false;
  const lead = words.slice(letter.length, found.index);
  return !IN_CASE.test(lead) && !isDenied(lead, NEVER) && !STAYS.test(sentenceIn(words.slice(found.index)));
}

function wordsOf(line: SourceLine | undefined): string | undefined {
  return line === undefined ? undefined : withoutMarks(line.text).slice(0, MAX_CONDITION_CHARS);
}

function isEnd({ text, isCode }: SourceLine): boolean {
  if (isCode) return false;
  const words = withoutMarks(text);
  return [HALTS, ENDS].some((form) => {
    const found = form.exec(words);
    if (found === null) return false;
    const at = found.index + found[0].search(/\b(?!and\b|then\b)[a-z]/i); // the verb: what parts it from its condition is before it
    const lead = words.slice(0, at);
    return !DEFINED.test(lead) && !isDenied(lead, NEVER);
  });
}

/** Adds every node from which one of the set can be reached. */
function grow(ends: Set<string>, ways: readonly Way[]): void {
  for (let size = -1; size !== ends.size;) {
    size = ends.size;
    for (const way of ways) if (ends.has(way.to)) ends.add(way.from);
  }
}
