/**
 * Finds a key in texts from outside, in whatever way it is written there: as it is, percent-encoded, as escapes of JSON
 * or HTML, in hex, or as base64 of it or of a text that holds it. All of them, beginnings and ends of it, become `<secret>`.
 * The work is linear in the text. A key that is short is found as it is, where it is a word of its own; what stands in the place
 * of a key where a server asks for none is no secret.
 */
export function redactKey(text: string, key: string): string {
  if (key === "" || isPlaceholder(key)) return text;
  if (key.length < SHORTEST_IN_TEXTS) return withoutWord(text, key);
  const bytes = utf8(key);
  const forms = readingsOf(key);
  const found: Span[] = [];
  let view = plainView(text);
  for (let level = 0; level < MOST_LEVELS; level += 1) {
    found.push(...spellings(view, forms), ...inHex(view, bytes), ...inBase64(view, bytes));
    const decoded = decode(view);
    if (decoded.text === view.text) break;
    view = decoded;
  }
  return replaceSpans(text, found);
}

/** Whether a key is taken out of what models say, who may use any word: shorter ones may be one. */
export function isSecretInTexts(key: string): boolean {
  return key.length >= SHORTEST_IN_TEXTS && !isPlaceholder(key);
}

/** What servers without keys, their clients and their manuals have in the place of one. */
const PLACEHOLDERS =
  /^(?:(?:sk-)?(?:no[_-]?key|no[_-]?api[_-]?key|not[_-]?(?:needed|required|used))(?:[_-]?(?:needed|required))?|none|null|empty|unused|dummy(?:[_-]?key)?|fake(?:[_-]?key)?|test|local(?:host)?|anything|placeholder|changeme|ollama|lm-?studio|llama(?:[.-]?cpp)?|vllm|openai|(?:api[_-]?)?key|token|secret|password|x+|-+)$/i;

function isPlaceholder(key: string): boolean {
  return PLACEHOLDERS.test(key);
}

function withoutWord(text: string, word: string): string {
  const escaped = word.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, "gu"), SECRET);
}

const SECRET = "<secret>";
/** Shorter ones are words, or stand in words. */
const SHORTEST_IN_TEXTS = 8;
/** Of base64, what is found in words that are none. */
const SHORTEST_CORE = 4;
/** A beginning or an end of a key that is as long as this gives it away, even where the rest was cut off or masked. */
const SHORTEST_PART = 10;
/** How often a text is taken to have been encoded. */
const MOST_LEVELS = 5;

/** Where something stands in the text that was given. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** A text read in some way, as UTF-8 with one character for a byte, and where each byte comes from. */
interface View {
  readonly text: string;
  readonly spans: readonly Span[];
}

class ViewMaker {
  private readonly chars: string[] = [];
  private readonly spans: Span[] = [];

  add(bytes: readonly number[], span: Span): void {
    for (const byte of bytes) {
      this.chars.push(String.fromCharCode(byte));
      this.spans.push(span);
    }
  }

  view(): View {
    return { text: this.chars.join(""), spans: this.spans };
  }
}

function plainView(text: string): View {
  const maker = new ViewMaker();
  let start = 0;
  for (const char of text) {
    maker.add(utf8(char), { start, end: start + char.length });
    start += char.length;
  }
  return maker.view();
}

const ESCAPES =
  /\\u\{(?<point>[0-9a-f]{1,6})\}|\\u(?<unit>[0-9a-f]{4})|\\x(?<byte>[0-9a-f]{2})|%(?<percent>[0-9a-f]{2})|&#x(?<hex>[0-9a-f]{1,6});?|&#(?<decimal>\d{1,7});?|&(?<name>[a-z]{2,8});|\\(?<plain>[^])/gi;

const NAMED_ENTITIES = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["sol", "/"],
  ["plus", "+"],
  ["equals", "="],
  ["lowbar", "_"],
  ["period", "."],
]);

/** The view with one level of escapes read. */
function decode(view: View): View {
  const maker = new ViewMaker();
  const copy = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) maker.add([view.text.charCodeAt(at)], spanOf(view, at, at + 1));
  };
  let end = 0;
  for (const match of view.text.matchAll(ESCAPES)) {
    copy(end, match.index);
    end = match.index + match[0].length;
    const bytes = bytesOf(match.groups ?? {});
    if (bytes === undefined) copy(match.index, end);
    else maker.add(bytes, spanOf(view, match.index, end));
  }
  copy(end, view.text.length);
  return maker.view();
}

/** What an escape stands for; nothing where it is none. */
function bytesOf(escape: Readonly<Record<string, string | undefined>>): readonly number[] | undefined {
  const { point, unit, byte, percent, hex, decimal, name, plain } = escape;
  if (percent !== undefined) return [Number.parseInt(percent, 16)];
  if (plain !== undefined) return [plain.charCodeAt(0)];
  if (name !== undefined) {
    const char = NAMED_ENTITIES.get(name.toLowerCase());
    return char === undefined ? undefined : utf8(char);
  }
  const code =
    decimal === undefined ? Number.parseInt(point ?? unit ?? byte ?? hex ?? "", 16) : Number(decimal);
  return code <= 0x10ffff ? utf8(String.fromCodePoint(code)) : undefined;
}

/** A key in the ways that texts are read: it may itself hold what looks like an escape. */
function readingsOf(key: string): readonly string[] {
  const forms: string[] = [];
  let view = plainView(key);
  for (let level = 0; level < MOST_LEVELS; level += 1) {
    forms.push(view.text.toLowerCase());
    view = decode(view);
  }
  return [...new Set(forms)];
}

/** The key itself, a long beginning or a long end of it, in any case. */
function spellings(view: View, forms: readonly string[]): readonly Span[] {
  const text = view.text.toLowerCase();
  return forms.flatMap((form) => {
    const least = Math.min(form.length, Math.max(SHORTEST_PART, Math.ceil(form.length / 3)));
    const begun = placesOf(text, form.slice(0, least)).map((start) => {
      let length = least;
      while (length < form.length && text[start + length] === form[length]) length += 1;
      return spanOf(view, start, start + length);
    });
    // Its end ends a word: within one it is of something else.
    const ends = placesOf(text, form.slice(-least)).map((place) => place + least);
    const ended = ends
      .filter((end) => !/\w/.test(text.charAt(end)))
      .map((end) => {
        let length = least;
        while (length < form.length && text[end - length - 1] === form.at(-length - 1)) length += 1;
        return spanOf(view, end - length, end);
      });
    return [...begun, ...ended];
  });
}

function inHex(view: View, bytes: readonly number[]): readonly Span[] {
  const digits = without(view, /0x|\\x|[\s:,%-]/gi);
  const needle = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return placesOf(digits.text.toLowerCase(), needle).map((start) =>
    spanOf(digits, start, start + needle.length),
  );
}

/** Base64 of the key or of what holds it: what stands around it is taken along, the key's ends are in it. */
function inBase64(view: View, bytes: readonly number[]): readonly Span[] {
  const base64 = without(view, /\\[rn]|\\(?=\/)|\s/g);
  const text = base64.text.replace(/-/g, "+").replace(/_/g, "/");
  return [0, 1, 2].flatMap((offset) => {
    const core = base64Core(bytes, offset);
    if (core.length < SHORTEST_CORE) return [];
    let last = 0;
    return placesOf(text, core).map((place) => {
      let start = place;
      let end = place + core.length;
      while (start > last && isOneWord(base64, start) && /[A-Za-z0-9+/]/.test(text[start - 1] ?? ""))
        start -= 1;
      while (isOneWord(base64, end) && /[A-Za-z0-9+/=]/.test(text[end] ?? "")) end += 1;
      last = end;
      return spanOf(base64, start, end);
    });
  });
}

/** Whether nothing was left out between a character and the one before it. */
function isOneWord({ spans }: View, at: number): boolean {
  return spans[at - 1]?.end === spans[at]?.start;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The characters of base64 that are the key's alone when `offset` bytes of three stand before it. */
function base64Core(bytes: readonly number[], offset: number): string {
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const chars: string[] = [];
  for (let at = offset === 0 ? 0 : 6 - ((offset * 8) % 6); at + 6 <= bits.length; at += 6) {
    chars.push(ALPHABET[Number.parseInt(bits.slice(at, at + 6), 2)] ?? "");
  }
  return chars.join("");
}

/** The view without what may stand between the characters that are looked for. */
function without(view: View, fillers: RegExp): View {
  const kept: Span[] = [];
  let text = "";
  let end = 0;
  const keep = (from: number, to: number): void => {
    text += view.text.slice(from, to);
    for (let at = from; at < to; at += 1) kept.push(spanOf(view, at, at + 1));
  };
  for (const match of view.text.matchAll(fillers)) {
    keep(end, match.index);
    end = match.index + match[0].length;
  }
  keep(end, view.text.length);
  return { text, spans: kept };
}

function placesOf(text: string, needle: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length))
    places.push(at);
  return places;
}

function spanOf({ spans }: View, from: number, to: number): Span {
  return { start: spans[from]?.start ?? 0, end: spans[to - 1]?.end ?? 0 };
}

function replaceSpans(text: string, spans: readonly Span[]): string {
  let clean = "";
  let end = 0;
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    if (span.start >= end) clean += `${text.slice(end, span.start)}${SECRET}`;
    end = Math.max(end, span.end);
  }
  return clean + text.slice(end);
}

/** The bytes of a text in UTF-8; core has no encoder of its own. */
function utf8(text: string): number[] {
  const bytes: number[] = [];
  for (const char of text.toWellFormed()) {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 0x3f));
    else if (code < 0x10000) {
      bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    } else {
      bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 0x3f));
      bytes.push(0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    }
  }
  return bytes;
}
