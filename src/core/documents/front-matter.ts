import matter from "gray-matter";
import { type ErrorCode, type Result, fail, ok } from "../errors.js";
import type { JsonObject, JsonValue } from "../json.js";
import { parseYaml, renderYaml } from "./yaml-to-json.js";

/** A Markdown document cut into its parts; joined again, they are the same bytes. */
export interface FrontMatterDocument {
  readonly frontmatter: JsonObject;
  /** Everything up to and including the opening fence's line end: byte-order mark, `---`, `\n` or `\r\n`. */
  readonly head: Uint8Array;
  /** Everything from the closing fence on, byte for byte. */
  readonly tail: Uint8Array;
  /** What follows the closing fence's line. */
  readonly body: Uint8Array;
}

/** Front matter larger than this is refused, read or written (contracts §5). */
export const MAX_FRONT_MATTER_BYTES = 128 * 1024;

/** Decodes bytes to as many characters: what is found in the text is found at the same place in the bytes. */
const BYTE_BY_BYTE = new TextDecoder("latin1");
const BOM = BYTE_BY_BYTE.decode(Uint8Array.of(0xef, 0xbb, 0xbf));

/**
 * Cuts the front matter off a document and parses it (contracts §5). A byte-order mark before the first
 * fence is tolerated; a language name after it is refused.
 * Fault: `E_INVALID_FRONTMATTER` with the line of the document and column where there is one; `oversize` when the block is larger
 * than 128 KiB, for a caller to whom that is a limit on what it is about to write.
 */
export function parseMarkdown(
  bytes: Uint8Array,
  oversize: ErrorCode = "E_INVALID_FRONTMATTER",
): Result<FrontMatterDocument> {
  const text = BYTE_BY_BYTE.decode(bytes);
  const lines = countBlockLines(text);
  if (!lines.ok) return lines;
  const block = lineEnd(text, 0);
  const fence = lineEnd(text, block, lines.value);
  if (fence - block > MAX_FRONT_MATTER_BYTES) {
    return fail(oversize, `The front matter is larger than ${MAX_FRONT_MATTER_BYTES} bytes.`);
  }
  const parsed = parseBlock(bytes.subarray(block, fence));
  if (!parsed.ok) return parsed;
  return ok({
    frontmatter: parsed.value,
    head: bytes.subarray(0, block),
    tail: bytes.subarray(fence),
    body: bytes.subarray(lineEnd(text, fence)),
  });
}

/**
 * The document with another frontmatter; head, closing fence and body stay byte for byte.
 * Fault: `E_WRITE_LIMIT` when the front matter would exceed 128 KiB or hold more than can be read back.
 */
export function withFrontmatter(document: FrontMatterDocument, frontmatter: JsonObject): Result<Uint8Array> {
  const text = renderYaml(frontmatter);
  const block = new TextEncoder().encode(text);
  if (block.length > MAX_FRONT_MATTER_BYTES) {
    return fail(
      "E_WRITE_LIMIT",
      `The front matter would be ${block.length} bytes; at most ${MAX_FRONT_MATTER_BYTES} are allowed. Keep large values in files.`,
    );
  }
  const reread = isWellWithinLimits(frontmatter) ? ok(frontmatter) : parseYaml(text);
  if (!reread.ok) {
    return fail("E_WRITE_LIMIT", `${reread.error.message} Keep large values in files.`);
  }
  return ok(joined([document.head, block, document.tail]));
}

/** So small, shallow and short-keyed that what is rendered from it is read again without a question. */
function isWellWithinLimits(value: JsonValue): boolean {
  let values = 0;
  const isFine = (item: JsonValue, depth: number): boolean => {
    values += 1;
    if (values > 10_000 || depth > 50) return false;
    if (item === null || typeof item !== "object") return true;
    return Object.entries(item).every(([key, inner]) => key.length < 500 && isFine(inner, depth + 1));
  };
  return isFine(value, 0);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function parseBlock(block: Uint8Array): Result<JsonObject> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(block);
  } catch {
    return fail("E_INVALID_FRONTMATTER", "The front matter is not valid UTF-8.");
  }
  return parseYaml(text, undefined, 1);
}

/** Stands in for every engine of gray-matter: nothing of a document is run, whatever language its front matter names. */
const notRead = () => ({});
const OPTIONS = {
  language: "yaml",
  delimiters: ["---", "---\n"] satisfies [string, string],
  engines: { yaml: notRead, json: notRead, javascript: notRead, coffee: notRead, toml: notRead },
};

/**
 * How many lines the front matter has: gray-matter finds it and cuts it. It is given the outline of the document, with
 * `_` for blanks and on empty lines and `\n` for every line end. A fence stays a fence, nothing else becomes one, and its
 * look for comments, which takes quadratic time over blank lines, meets none. What it has cut is then read from the bytes.
 * Options are passed on purpose: without them it hands out one cached, shared object.
 */
function countBlockLines(text: string): Result<number> {
  const whole = text.slice(text.startsWith(BOM) ? BOM.length : 0);
  if (!/^---(?:\r?\n|$)/.test(whole)) {
    return fail(
      "E_INVALID_FRONTMATTER",
      "The document does not begin with a line of exactly ---. Begin it so, with nothing before that line, and end the front matter with another.",
    );
  }
  const filled = whole.replaceAll("\r\n", "\n").replaceAll(/[^\S\n]/g, "_");
  const outline = `${filled}\n`.replaceAll(/\n(?=\n)/g, "\n_");
  const block = matter(outline, OPTIONS).matter;
  if (!outline.startsWith("\n---\n", "---".length + block.length)) {
    return fail(
      "E_INVALID_FRONTMATTER",
      "The front matter is not closed by a line of exactly ---. Put one below it.",
    );
  }
  return ok(block.split("\n").length - 1);
}

/** The index after the end of the line that holds `from`, or of the `lines`-th from there. */
function lineEnd(text: string, from: number, lines = 1): number {
  let at = from;
  for (let line = 0; line < lines; line += 1) {
    const feed = text.indexOf("\n", at);
    if (feed === -1) return text.length;
    at = feed + 1;
  }
  return at;
}
