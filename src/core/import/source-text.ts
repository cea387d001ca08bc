import { parseYaml } from "../documents/yaml-to-json.js";
import type { JsonObject, JsonValue } from "../json.js";

/** A Markdown file as it is imported: its front matter as JSON, and its body line by line. */
export interface SourceText {
  readonly frontmatter: JsonObject;
  /** Why the front matter was not read as YAML but line by line. */
  readonly problem?: string;
  readonly body: readonly SourceLine[];
}

export interface SourceLine {
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
const TOO_LONG = `it is longer than ${MAX_FRONT_CHARS} characters`;

/** Takes a step file apart. What begins with no fence, or closes none, has no front matter. */
export function readSource(text: string): SourceText {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  const end = lines[0]?.trimEnd() === "---" ? closingFence(lines) : undefined;
  const body = bodyOf(lines, end === undefined ? 0 : end + 1);
  if (end === undefined) return { frontmatter: {}, body };
  const block = lines.slice(1, end);
  const yaml = block.join("\n");
  if (yaml.length > MAX_FRONT_CHARS) return { frontmatter: readLineByLine(block), problem: TOO_LONG, body };
  const parsed = parseYaml(yaml);
  if (parsed.ok) return { frontmatter: parsed.value, body };
  return { frontmatter: readLineByLine(block), problem: parsed.error.message, body };
}

function closingFence(lines: readonly string[]): number | undefined {
  const at = lines.slice(1, MAX_FRONT_LINES).findIndex((line) => line.trimEnd() === "---");
  return at === -1 ? undefined : at + 1;
}

/** A fence with a language opens a block, inside another too: templates hold blocks of their own. A bare one ends the innermost. */
function bodyOf(lines: readonly string[], from: number): readonly SourceLine[] {
  let depth = 0;
  return lines.slice(from).map((text, index) => {
    const [, mark, language] = /^\s{0,12}(`{3,}|~{3,})\s{0,4}(\w?)/.exec(text.slice(0, 200)) ?? [];
    const before = depth;
    if (mark !== undefined) depth = language === "" && depth > 0 ? depth - 1 : depth + 1;
    const isCode = before > 0 || depth > 0 || text.length > MAX_LINE_CHARS;
    return { text, number: from + index + 1, isCode };
  });
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

/** The same, with each text of a list. */
export function listedTextsOf(frontmatter: JsonObject): readonly (readonly [key: string, text: string])[] {
  return Object.entries(frontmatter).flatMap(([key, value]) => {
    const values = Array.isArray(value) ? (value as readonly JsonValue[]) : [value]; // a list of JSON
    return values.flatMap((text) => (typeof text === "string" ? [[key, text] as const] : []));
  });
}
