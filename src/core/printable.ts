/**
 * What a terminal, a log or a browser would not show, or would obey: control and format characters (bidi and zero-width ones
 * among them), what Unicode lets a reader ignore (tags, variation selectors, fillers), ends of lines and paragraphs, code
 * points that are no characters, and halves of surrogate pairs.
 */
const UNPRINTABLE = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]`;

/** An emoji may be joined to others and may say how it is drawn: each once, so that nothing can be hidden in it. */
const PICTURE = String.raw`\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?`;
const EMOJI = String.raw`${PICTURE}(?:\u200D${PICTURE})*|[0-9#*]\uFE0F\u20E3`;

const HIDDEN = new RegExp(UNPRINTABLE, "u");
const EMOJI_OR_HIDDEN = new RegExp(`${EMOJI}|(${UNPRINTABLE})`, "gu");

/** Whether a text holds anything that is not printable. Emoji are. */
export function isPrintable(text: string): boolean {
  return !HIDDEN.test(text) || escapeHidden(text, () => "") === text;
}

/** A text on one line with what is not printable as `\u{202e}`: line breaks and tabs as well. */
export function printable(text: string): string {
  return escapeHidden(text, (char) => `\\u{${codeOf(char).toString(16)}}`);
}

/** The lines of a text that is meant to have several, each printable. Tabs become spaces. */
export function printableLines(text: string): readonly string[] {
  return text.split(/\r?\n/).map((line) => printable(line.replaceAll("\t", "    ")));
}

/** A text with what is not printable as `\u{202e}`; line breaks and tabs stay. */
export function printableText(text: string): string {
  const parts = text.split(/(\r\n|[\n\t])/);
  return parts.map((part, index) => (index % 2 === 1 ? part : printable(part))).join("");
}

/** JSON text that says the same, in which nothing needs to be hidden: what is not printable is `\u202e`. */
export function printableJsonText(json: string): string {
  return json.split("\n").map(jsonEscaped).join("\n");
}

/** A text on one line with what is not printable as JSON spells it, `\u202e`: line breaks as well. */
export function jsonEscaped(text: string): string {
  return escapeHidden(text, (char) =>
    Array.from({ length: char.length }, (_, index) => {
      return `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`;
    }).join(""),
  );
}

function escapeHidden(text: string, escape: (char: string) => string): string {
  if (!HIDDEN.test(text)) return text;
  return text.replace(EMOJI_OR_HIDDEN, (match, hidden: string | undefined) =>
    hidden === undefined ? match : escape(hidden),
  );
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
