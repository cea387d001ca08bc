import { parseToml } from "../../documents/toml-to-json.js";
import { parseYaml } from "../../documents/yaml-to-json.js";
import { type JsonObject, type JsonValue, isList, isObject } from "../../json.js";
import { itemsApart } from "./line-items.js";
import { withoutUnsaid } from "./not-said.js";

/** A Markdown file as it is imported: its front matter as JSON, and its body line by line. */
export interface SourceText {
  readonly frontmatter: JsonObject;
  /** The line of a fence that opens a block of code which nothing closes; absent where there is none. */
  readonly unclosed?: number;
  /** What is to be said of the front matter: `was read line by line: …`. */
  readonly problem?: string;
  readonly body: readonly SourceLine[];
  /** Its lines as they stand in the file. */
  readonly written: readonly string[];
}

export interface SourceLine {
  /** What it says, or one of the items of a menu in it, in one spelling (`plainLine`): blanks stand in the place of comments. */
  readonly text: string;
  /** 1-based, in the file. */
  readonly number: number;
  /** It stands in a block of code: an example, no instruction. */
  readonly isCode: boolean;
}

/** Lines that are longer hold data. Nothing in them is taken for an instruction. */
const MAX_LINE_CHARS = 4_000;
const MAX_FRONT_LINES = 400;
const MAX_FRONT_CHARS = 64 * 1024;
const KEY = /^\s{0,40}["']?[\w-]{1,80}["']?\s{0,8}:/;
const UNCLOSED = "has no line that closes it: write --- below it";
const UNCLOSED_TOML = "has no line that closes it: write +++ below it";
const TOO_LONG = `it is longer than ${MAX_FRONT_CHARS} characters`;

/** Takes a step file apart. What begins with no fence, or closes none, has no front matter. */
export function readSource(text: string): SourceText {
  const lines = linesOf(text);
  if (lines[0]?.trimEnd() === "+++") return readWithToml(lines);
  const start = openingFence(lines);
  if (start === undefined) return { frontmatter: {}, ...bodyOf(lines, [], 0) };
  const end = closingFence(lines, start);
  if (end === undefined) {
    const isMeant = start === 0 && KEY.test(lines[1] ?? "");
    return { frontmatter: {}, ...(isMeant ? { problem: UNCLOSED } : {}), ...bodyOf(lines, [], 0) };
  }
  const block = lines.slice(start + 1, end);
  // Below the top a rule between two texts looks alike.
  if (start > 0 && !KEY.test(block.find((line) => !/^\s*(?:#|$)/.test(line)) ?? ""))
    return { frontmatter: {}, ...bodyOf(lines, [], 0) };
  const body = bodyOf(lines, lines.slice(0, start), end + 1);
  const yaml = block.join("\n");
  if (yaml.length > MAX_FRONT_CHARS)
    return { frontmatter: readLineByLine(block), problem: byLine(TOO_LONG), ...body };
  const parsed = parseYaml(yaml, undefined, start + 1);
  if (parsed.ok) return { frontmatter: mergedObject(parsed.value), ...body };
  return { frontmatter: readLineByLine(block), problem: byLine(parsed.error.message), ...body };
}

function byLine(problem: string): string {
  return `was read line by line: ${problem}`;
}

/** A front matter between lines of `+++` is TOML. */
function readWithToml(lines: readonly string[]): SourceText {
  const end = lines.slice(1, MAX_FRONT_LINES).findIndex((line) => line.trimEnd() === "+++") + 1;
  if (end === 0) return { frontmatter: {}, problem: UNCLOSED_TOML, ...bodyOf(lines, [], 0) };
  const block = lines.slice(1, end);
  const parsed = parseToml(block.join("\n"));
  const body = bodyOf(lines, [], end + 1);
  if (parsed.ok) return { frontmatter: parsed.value, ...body };
  const { message, details } = parsed.error;
  const line = Number(details?.["line"] ?? 1) + 1;
  return { frontmatter: {}, problem: `is no TOML (line ${line}: ${message}): it was left out`, ...body };
}

function linesOf(text: string): readonly string[] {
  return text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
}

/** The line of a file that a key of its front matter stands in, 1-based; the first where it is not found. */
export function lineOfKey(text: string, key: string): number {
  const isKey = (line: string): boolean =>
    line.replace(/^[\s"'-]{1,40}/, "").startsWith(key) &&
    /^["']?\s{0,8}[:=]/.test(line.slice(line.indexOf(key) + key.length));
  return linesOf(text).slice(0, MAX_FRONT_LINES).findIndex(isKey) + 1 || 1;
}

/** The first line, after blank ones and comments of one line. */
function openingFence(lines: readonly string[]): number | undefined {
  const at = lines.slice(0, 20).findIndex((line) => !/^\s{0,8}(?:<!--.{0,400}-->\s{0,8})?$/.test(line));
  return lines[at]?.trimEnd() === "---" ? at : undefined;
}

function closingFence(lines: readonly string[], start: number): number | undefined {
  const from = start + 1;
  const at = lines.slice(from, from + MAX_FRONT_LINES).findIndex((line) => /^(?:---|\.\.\.)\s*$/.test(line));
  return at === -1 ? undefined : from + at;
}

/** YAML 1.1's merge keys, which people write: what stands beside them counts before them, the first of several before the rest. */
function mergedObject(object: JsonObject): JsonObject {
  const { "<<": merged, ...own } = object;
  const from = isList(merged) ? merged : [merged];
  const bases = from.filter(isObject).toReversed();
  const all = Object.assign({}, ...bases.map(mergedObject), own) as JsonObject; // JSON of JSON
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [key, merge(value)]));
}

function merge(value: JsonValue): JsonValue {
  if (isList(value)) return value.map(merge);
  return isObject(value) ? mergedObject(value) : value;
}

interface Body {
  readonly body: readonly SourceLine[];
  readonly written: readonly string[];
  /** The line of a fence that opens a block which nothing closes: what follows is text. */
  readonly unclosed?: number;
}

/** The lines from `from` on, and the comments of `lead`. */
function bodyOf(lines: readonly string[], lead: readonly string[], from: number): Body {
  const comments = lead.flatMap((text, index) =>
    text.trim() === "" ? [] : [{ text, number: index + 1, isCode: true }],
  );
  const written = lines.slice(from);
  const rest = written.map(plainLine);
  const nested = nestedBlocks(rest);
  const plain = nested === undefined ? plainBlocks(rest) : undefined;
  const isCode = nested ?? plain?.isCode ?? [];
  const body = rest.map((text, index) => ({
    text,
    number: from + index + 1,
    isCode: isCode[index] === true || text.length > MAX_LINE_CHARS,
  }));
  const open = plain?.open;
  return {
    body: [...comments, ...itemsApart(withoutUnsaid(body))],
    written: [...comments.map(({ text }) => text), ...written],
    ...(open === undefined ? {} : { unclosed: from + open + 1 }),
  };
}

const QUOTED = /^(?:\s{0,3}>){1,20} ?/;
const BULLET = /^(\s{0,40})[*+•‣◦▪](?=\s)/;
/** Words between underscores, as bold type and italics are written too. */
const SET_OFF = /(?<=^|[\s([])(__?)(?=[^\s_])([^_\n]{0,79}[^\s_])\1(?=[\s:：,;\])]|\.(?:\s|$)|$)/g;

/** A line in the spelling that it is read in: out of a quotation, with `-` before an item and stars around what is set off. */
function plainLine(text: string): string {
  const plain = text.replace(QUOTED, "").replace(BULLET, "$1-");
  return plain.replaceAll(SET_OFF, "**$2**");
}

const FENCE = /^\s{0,12}(`{3,}|~{3,})\s{0,4}(\w?)/;

/**
 * A fence with a language opens a block, inside another too: templates hold blocks of their own. A bare one ends the innermost.
 * Undefined where a block is left open that way.
 */
function nestedBlocks(lines: readonly string[]): readonly boolean[] | undefined {
  let depth = 0;
  const isCode = lines.map((text) => {
    const [, mark, language] = FENCE.exec(text.slice(0, 200)) ?? [];
    const before = depth;
    if (mark !== undefined) depth = language === "" && depth > 0 ? depth - 1 : depth + 1;
    return before > 0 || depth > 0;
  });
  return depth === 0 ? isCode : undefined;
}

/** As Markdown has it: a block ends with a bare fence of its own kind and at least its length. One that is left open is none. */
function plainBlocks(lines: readonly string[]): {
  readonly isCode: readonly boolean[];
  readonly open?: number;
} {
  let block: { readonly mark: string; readonly at: number } | undefined;
  const isCode = lines.map((text, at) => {
    const [, mark = "", language] = FENCE.exec(text.slice(0, 200)) ?? [];
    const wasIn = block !== undefined;
    if (block === undefined) block = mark === "" ? undefined : { mark, at };
    else if (mark.startsWith(block.mark) && language === "") block = undefined;
    return wasIn || block !== undefined;
  });
  const open = block?.at;
  return open === undefined ? { isCode } : { isCode: isCode.map((is, at) => is && at < open), open };
}

/** `key: value` pairs of a block that YAML cannot read, such as one with a placeholder as a value. */
function readLineByLine(block: readonly string[]): JsonObject {
  const pairs = new Map<string, string>();
  for (const line of block) {
    if (line.length > MAX_LINE_CHARS) continue;
    const colon = line.indexOf(":");
    const key = line.slice(0, Math.max(colon, 0));
    if (!/^[A-Za-z][\w-]{0,80}$/.test(key) || pairs.has(key)) continue;
    pairs.set(key, unquoted(line.slice(colon + 1).trim()));
  }
  return Object.fromEntries(pairs);
}

function unquoted(value: string): string {
  const quote = value[0];
  if (quote !== "'" && quote !== '"') return value;
  const end = value.indexOf(quote, 1);
  return end === -1 ? value : value.slice(1, end);
}

/** The texts of a front matter's own keys. */
export function textsOf(frontmatter: JsonObject): ReadonlyMap<string, string> {
  const texts = Object.entries(frontmatter).filter(
    (pair): pair is [string, string] => typeof pair[1] === "string",
  );
  return new Map(texts);
}

/** The variables that a file's references may begin with: its own, then its workflow's. */
export function variablesFor(own: SourceText, workflow: SourceText): ReadonlyMap<string, string> {
  return new Map([...textsOf(workflow.frontmatter), ...textsOf(own.frontmatter)]);
}

/** A line's words, without the marks of Markdown. What stands in a word, `pr_mode`, and what compares, `> 3`, is none. */
export function withoutMarks(text: string): string {
  return text
    .replace(/^[\s>]{0,40}#{0,6}/, " ")
    .replaceAll(/[*`]|_(?<![\p{L}\p{N}_]_)_{0,39}|_{1,40}(?![\p{L}\p{N}_])/gu, "") // what each begins with is found quickly
    .replaceAll(/\s{2,}|[^\S ]/g, " ")
    .trim();
}
