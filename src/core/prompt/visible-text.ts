import { hasCallMark } from "../run/no-question.js";

/** What models think between, where they do so in their text. */
const TAGS: readonly (readonly [opening: string, closing: string])[] = [
  ...["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think", "mm:think"].map(
    (tag) => [`<${tag}>`, `</${tag}>`] as const,
  ),
  ["[THINK]", "[/THINK]"],
  ["◁think▷", "◁/think▷"],
  ["<longcat_think>", "</longcat_think>"],
  ["<|START_THINKING|>", "<|END_THINKING|>"],
  ["<|channel>", "<channel|>"], // Gemma
  ["<|inner_prefix|>", "<|inner_suffix|>"], // Apertus
  ["<|begin_of_thought|>", "<|end_of_thought|>"],
  ["<|channel|>analysis<|message|>", "<|channel|>final<|message|>"],
];

export const OPENING_TAGS = TAGS.map(([opening]) => opening.toLowerCase());
export const CLOSING_TAGS = TAGS.map(([, closing]) => closing.toLowerCase());
export const LONGEST_TAG = Math.max(...[...OPENING_TAGS, ...CLOSING_TAGS].map((tag) => tag.length));
/** Where there is none of these, there is no tag: what each of them begins with. */
const TAG_BEGINS = new RegExp(
  [...new Set([...OPENING_TAGS, ...CLOSING_TAGS].map((tag) => escaped(tag.slice(0, 1))))].join("|"),
);

/**
 * An answer's text as a person sees it: without what the model thinks aloud in tags, and without what begins and ends its turn. At its beginning a thought that is not
 * closed goes on to the end, and one that is only closed was begun by the server. In code tags are text.
 */
export function visibleText(said: string): string {
  if (!TAG_BEGINS.test(said)) return said;
  const text = inTags(said).replace(TURN_START, "");
  const rest = text.slice(endOfThoughts(text)).replace(TURN_START, "");
  const begun = rest.trimStart();
  const shown = withoutThoughts(begun);
  return withoutTurnEnds(shown === begun ? rest : shown);
}

/** What begins a turn in a model's own template, or what it says behind its thoughts: Cohere's, OpenThinker's, Qwen's and Gemma's. */
const TURN_START =
  /^\s{0,9}(?:<\|(?:START_RESPONSE|START_TEXT|begin_of_solution|assistant)\|>|<\|im_start\|>assistant\b|<start_of_turn>model\b)\s{0,9}/;

/** Kimi K3's marks of a thought and of what comes behind it, either of which may be missing there, in tags. */
function inTags(text: string): string {
  if (!/<\|(?:open|close)\|>/.test(text)) return text;
  return text
    .replaceAll("<|open|>think<|sep|>", "<think>")
    .replace(
      /<\|close\|>think(?:<\|sep\|>)?\s{0,9}(?:<\|open\|>response<\|sep\|>)?|<\|open\|>response<\|sep\|>/g,
      "</think>",
    );
}

/** What ends a turn in a model's own template, where its server has left it in the text: as `<|im_end|>`, or Gemma's `<turn|>`. */
const TURN_END =
  /(?:<\|close\|>\w{1,20}<\|sep\|>|<[|｜][\w▁]{1,40}[|｜]?>|<[\w▁]{1,40}[|｜]>|<(?:eos|end_of_turn|\/s)>)$/;
const LONGEST_TURN_END = 44;

function withoutTurnEnds(text: string): string {
  const isStruckOut = /<s[\s>]/i.test(text);
  for (let shown = text; ;) {
    const last = shown.trimEnd();
    const [end = ""] = TURN_END.exec(last.slice(-LONGEST_TURN_END)) ?? [];
    if (end === "" || hasCallMark(end) || (end === "</s>" && isStruckOut)) return shown;
    shown = last.slice(0, -end.length);
  }
}

/** Where the text begins behind all that is thought before it; in time linear in its length, however many tags it has. */
function endOfThoughts(text: string): number {
  const tags = TAGS.map(([opening, closing]) => ({
    opening: opening.toLowerCase(),
    openingFrom: finderOf(text, opening),
    closingFrom: finderOf(text, closing),
    length: closing.length,
  }));
  for (let from = 0; ;) {
    const rest = text.slice(from).trimStart();
    const start = text.length - rest.length;
    const lower = rest.slice(0, LONGEST_TAG).toLowerCase();
    const opened = tags.find(({ opening }) => lower.startsWith(opening));
    if (opened !== undefined) {
      const end = opened.closingFrom(start);
      if (end === -1) return text.length;
      from = text.length - text.slice(end + opened.length).trimStart().length;
      continue;
    }
    const closed = tags.find(({ openingFrom, closingFrom }) => {
      const [begun, end] = [openingFrom(start), closingFrom(start)];
      return end !== -1 && (begun === -1 || begun > end) && !isInCode(rest, end - start);
    });
    if (closed === undefined) return from;
    from = closed.closingFrom(start) + closed.length;
  }
}

/** Where a tag stands next in a text, asked from front to back. */
function finderOf(text: string, tag: string): (from: number) => number {
  const regex = new RegExp(escaped(tag), "gi");
  let known = -2; // not looked for yet
  return (from) => {
    if (known === -1 || known >= from) return known;
    regex.lastIndex = from;
    known = regex.exec(text)?.index ?? -1;
    return known;
  };
}

/** Where a tag stands in a text, in small letters, in capitals or in both; -1 where it does not. */
export function indexOfTag(text: string, tag: string): number {
  return text.search(new RegExp(escaped(tag), "i"));
}

function escaped(text: string): string {
  return text.replace(/[[\]|/.]/g, "\\$&");
}

/** Between backticks; a tag that begins a line is one all the same: what was thought before it may have held any. */
function isInCode(text: string, at: number): boolean {
  const before = text.slice(0, at);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  if (line.trim() === "") return false;
  return before.split("```").length % 2 === 0 || line.split("`").length % 2 === 0;
}

const TOKENS = new RegExp(
  ["```", "`", "\\n", ...[...OPENING_TAGS, ...CLOSING_TAGS].map(escaped)].join("|"),
  "gi",
);

/** Where a thought may begin: a tag in a sentence is spoken of. */
const BEGINS_SENTENCE = /(?:^|[\n.!?:…。])[ \t]*$/;
const BEGINS_LINE = /(?:^|\n)[ \t]*$/;

/** The text without thoughts in the middle of it: those that are closed, and one at the end that begins a line. */
function withoutThoughts(text: string): string {
  if (!OPENING_TAGS.some((tag) => indexOfTag(text, tag) !== -1)) return text;
  let shown = "";
  let from = 0;
  let code: "" | "`" | "```" = "";
  let thought: { readonly at: number; readonly closing: string } | undefined;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    const tag = token.toLowerCase();
    if (thought !== undefined) {
      if (tag !== thought.closing) continue;
      shown += text.slice(from, thought.at);
      from = index + token.length;
      thought = undefined;
    } else if (tag === "```") code = code === "```" ? "" : "```";
    else if (tag === "`") code = code === "" ? "`" : code === "`" ? "" : code;
    else if (tag === "\n") code = code === "`" ? "" : code;
    else if (
      code === "" &&
      OPENING_TAGS.includes(tag) &&
      BEGINS_SENTENCE.test(text.slice(Math.max(0, index - LONGEST_TAG), index))
    ) {
      thought = { at: index, closing: CLOSING_TAGS[OPENING_TAGS.indexOf(tag)] ?? "" };
    }
  }
  const before = thought === undefined ? undefined : text.slice(0, thought.at);
  if (before !== undefined && BEGINS_LINE.test(before.slice(-LONGEST_TAG))) return shown + before.slice(from);
  return shown + text.slice(from);
}
