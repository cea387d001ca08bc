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

const LF = 0x0a;
const CR = 0x0d;
const BOM = [0xef, 0xbb, 0xbf];

/**
 * Cuts the front matter off a document and parses it (contracts §5). A byte-order mark before the first
 * fence is tolerated; a language name after it is refused.
 * Fault: `E_INVALID_FRONTMATTER` with line and column where there is one; `oversize` when the block is larger
 * than 128 KiB, for a caller to whom that is a limit on what it is about to write.
 */
export function parseFrontMatter(
  bytes: Uint8Array,
  oversize: ErrorCode = "E_INVALID_FRONTMATTER",
): Result<FrontMatterDocument> {
  const start = BOM.every((byte, index) => bytes[index] === byte) ? BOM.length : 0;
  const first = lineAt(bytes, start);
  if (!isFence(bytes, start, first.end)) {
    return fail("E_INVALID_FRONTMATTER", "The document does not begin with a line of exactly ---.");
  }
  const fence = findClosingFence(bytes, first.next);
  if (fence === undefined) {
    return fail("E_INVALID_FRONTMATTER", "The front matter is not closed by a line of exactly ---.");
  }
  const block = bytes.subarray(first.next, fence.start);
  if (block.length > MAX_FRONT_MATTER_BYTES) {
    return fail(oversize, `The front matter is larger than ${MAX_FRONT_MATTER_BYTES} bytes.`);
  }
  const parsed = parseBlock(block);
  if (!parsed.ok) return parsed;
  return ok({
    frontmatter: parsed.value,
    head: bytes.subarray(0, first.next),
    tail: bytes.subarray(fence.start),
    body: bytes.subarray(fence.next),
  });
}

/**
 * The document with another frontmatter; head, closing fence and body stay byte for byte.
 * Fault: `E_WRITE_LIMIT` when the front matter would exceed 128 KiB or hold more than can be read back.
 */
export function withFrontmatter(document: FrontMatterDocument, frontmatter: JsonObject): Result<Uint8Array> {
  const text = renderYaml(frontmatter);
  const block = Buffer.from(text, "utf8");
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
  return ok(Buffer.concat([document.head, block, document.tail]));
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

function parseBlock(block: Uint8Array): Result<JsonObject> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(block);
  } catch {
    return fail("E_INVALID_FRONTMATTER", "The front matter is not valid UTF-8.");
  }
  let parsed: Result<JsonObject> = ok({});
  const refuse = () => {
    throw new Error("Only YAML front matter is read.");
  };
  // gray-matter gets a stand-in for the block, which the engine puts in its place: its own look for comments takes
  // quadratic time over blank lines, and its own cut would leave a \r and stop at "---x".
  // Options are passed on purpose: without them it hands out one cached, shared object.
  matter("---\nblock\n---\n", {
    language: "yaml",
    engines: {
      yaml: {
        parse: () => {
          parsed = parseYaml(text);
          return {};
        },
      },
      json: { parse: refuse },
      javascript: { parse: refuse },
      js: { parse: refuse },
      coffee: { parse: refuse },
      toml: { parse: refuse },
    },
  });
  return parsed;
}

interface Line {
  readonly start: number;
  /** Index after the last byte of the line, without its line end. */
  readonly end: number;
  /** Index of the next line. */
  readonly next: number;
}

function lineAt(bytes: Uint8Array, start: number): Line {
  const feed = bytes.indexOf(LF, start);
  if (feed === -1) return { start, end: bytes.length, next: bytes.length };
  return { start, end: feed > start && bytes[feed - 1] === CR ? feed - 1 : feed, next: feed + 1 };
}

function findClosingFence(bytes: Uint8Array, from: number): Line | undefined {
  for (let start = from; start < bytes.length;) {
    const line = lineAt(bytes, start);
    if (isFence(bytes, line.start, line.end)) return line;
    start = line.next;
  }
  return undefined;
}

function isFence(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start === 3 && bytes[start] === 0x2d && bytes[start + 1] === 0x2d && bytes[start + 2] === 0x2d;
}
