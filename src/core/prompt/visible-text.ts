/** What models think between, where they do so in their text. */
const TAGS: readonly (readonly [opening: string, closing: string])[] = [
  ...["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think"].map(
    (tag) => [`<${tag}>`, `</${tag}>`] as const,
  ),
  ["[THINK]", "[/THINK]"],
  ["◁think▷", "◁/think▷"],
  ["<|begin_of_thought|>", "<|end_of_thought|>"],
  ["<|channel|>analysis<|message|>", "<|channel|>final<|message|>"],
];

export const OPENING_TAGS = TAGS.map(([opening]) => opening.toLowerCase());
export const CLOSING_TAGS = TAGS.map(([, closing]) => closing.toLowerCase());
export const LONGEST_TAG = Math.max(...[...OPENING_TAGS, ...CLOSING_TAGS].map((tag) => tag.length));

/**
 * An answer's text as a person sees it: without what the model thinks aloud in tags. At its beginning a thought that is not
 * closed goes on to the end, and one that is only closed was begun by the server. In code tags are text.
 */
export function visibleText(text: string): string {
  let rest = text.trimStart();
  for (;;) {
    const lower = rest.slice(0, LONGEST_TAG).toLowerCase();
    const tag = OPENING_TAGS.findIndex((opening) => lower.startsWith(opening));
    if (tag === -1) break;
    const closing = CLOSING_TAGS[tag] ?? "";
    const end = indexOfTag(rest, closing);
    if (end === -1) return "";
    rest = rest.slice(end + closing.length).trimStart();
  }
  for (const [index, closing] of CLOSING_TAGS.entries()) {
    const end = indexOfTag(rest, closing);
    const begun = indexOfTag(rest, OPENING_TAGS[index] ?? "");
    if (end !== -1 && (begun === -1 || begun > end) && !isInCode(rest, end)) {
      return visibleText(rest.slice(end + closing.length));
    }
  }
  const shown = withoutThoughts(rest);
  return shown === text.trimStart() ? text : shown;
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
