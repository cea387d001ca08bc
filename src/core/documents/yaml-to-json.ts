import {
  type Alias,
  type CST,
  type Document,
  type Node,
  type Scalar,
  Composer,
  Lexer,
  LineCounter,
  Parser,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  visit,
} from "yaml";
import { type Result, fail, ok } from "../errors.js";
import { parseJsonText } from "../json-text.js";
import type { JsonObject, JsonValue } from "../json.js";
import { excerpt } from "../text.js";
import { printableJson } from "./printable-json.js";

/** Bounds on front matter (contracts §5). */
const MAX_DEPTH = 100;
const MAX_VALUES = 50_000;
/** Of marks, words and blanks: each costs far more to put together than to find. */
const MAX_PIECES = 100_000;
/** Aliases may repeat long texts as well. */
const MAX_TEXT_CHARS = 1024 * 1024;

/** The library knows more tags than YAML's core schema has; they stand for values that JSON does not have. */
const CORE_TAGS: ReadonlySet<string> = new Set(
  ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`),
);

/** Refusals inside the walk; turned into a fault at the door. */
class YamlRefused extends Error {
  readonly at: { readonly line: number; readonly col: number } | undefined;

  constructor(sentence: string, at?: { readonly line: number; readonly col: number }) {
    super(sentence);
    this.at = at;
  }
}

/**
 * Parses one YAML 1.2 core document whose root is a mapping (or nothing) into plain JSON. Dates stay text.
 * `subject` begins sentences about the whole text, and its lines are counted on from `linesBefore`. Fault `E_INVALID_FRONTMATTER`: syntax errors with line
 * and column, the 1-based `line` in its details as well; duplicate or `__proto__` keys, cycles, tags, values JSON cannot carry, alias expansion beyond 50,000 values, nesting beyond 100 levels.
 */
export function parseYaml(text: string, subject = "The front matter", linesBefore = 0): Result<JsonObject> {
  const rendered = parseRendered(text);
  if (rendered !== undefined) return ok(rendered);
  const lines = new LineCounter();
  try {
    // A lone carriage return ends a line (YAML 1.2, §5.4); the library has it as text.
    const plain = text.replaceAll(/\r(?!\n)/g, "\n");
    return ok(toObject(composeDocument(plain, lines, subject), lines, subject));
  } catch (error) {
    if (!(error instanceof YamlRefused || error instanceof RangeError)) throw error;
    const tooDeep = { at: undefined, message: "The YAML is too deeply nested." };
    const { at, message } = error instanceof YamlRefused ? error : tooDeep;
    if (at === undefined) return fail("E_INVALID_FRONTMATTER", message);
    const line = at.line + linesBefore;
    return fail("E_INVALID_FRONTMATTER", `YAML, line ${line}, column ${at.col}: ${message}`, { line });
  }
}

function composeDocument(text: string, lines: LineCounter, subject: string): Document.Parsed | undefined {
  const tokens = readTokens(text, lines);
  for (const token of tokens) {
    if (token.type === "error") {
      throw refusal(lines, token.offset, `${token.message}: ${JSON.stringify(token.source)}`);
    }
    refuseDeepNesting(token);
  }
  if (tokens.filter(({ type }) => type === "document").length > 1) {
    throw new YamlRefused(`${subject} holds more than one YAML document.`);
  }
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    uniqueKeys: false, // the walk looks for them: the library compares each key with every other
    merge: false,
    lineCounter: lines,
  });
  let first: YamlRefused | undefined;
  // The library would make an error of each mistake, with a stack trace: a second for 128 KiB of them. One is enough.
  Object.assign(composer, {
    onError(source: Mistake, _code: string, message: string) {
      first ??= refusal(lines, offsetOf(source), withRemedy(message));
    },
  });
  const [document] = composer.compose(tokens);
  const problem = document?.errors[0] ?? document?.warnings[0]; // should the library not ask `onError`
  if (problem !== undefined) first ??= refusal(lines, problem.pos[0], withRemedy(problem.message));
  if (first !== undefined) throw first;
  return document;
}

/** What helps against the mistakes that are made most, in whose sentences the library has YAML's own terms. */
const REMEDIES: readonly (readonly [said: RegExp, remedy: string])[] = [
  [/^Tabs are not allowed/, "use blanks"],
  [/^Nested mappings are not allowed in compact/, 'put a text with ": " in it in quotes'],
  [/^Plain value cannot start with|^Unexpected scalar at node end/, "put the whole value in double quotes"],
  [/^Implicit keys need to be on a single line/, 'write "key: value", with a blank behind the colon'],
];

function withRemedy(message: string): string {
  const remedy = REMEDIES.find(([said]) => said.test(message))?.[1];
  return remedy === undefined ? message : `${message}: ${remedy}`;
}

/** Where the library finds one. */
type Mistake = number | readonly [number, ...number[]] | { readonly offset: number };

function offsetOf(source: Mistake): number {
  if (typeof source === "number") return source;
  return "offset" in source ? source.offset : source[0];
}

function readTokens(text: string, lines: LineCounter): readonly CST.Token[] {
  const pieces: string[] = [];
  for (const piece of new Lexer().lex(text)) {
    pieces.push(piece);
    if (pieces.length > MAX_PIECES) {
      throw new YamlRefused(`The YAML has more than ${MAX_PIECES} marks, words and blanks.`);
    }
  }
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  return [...pieces.flatMap((piece) => [...parser.next(piece)]), ...parser.end()];
}

function refusal(lines: LineCounter, offset: number, sentence: string): YamlRefused {
  return new YamlRefused(excerpt(sentence, 200), lines.linePos(offset));
}

/** Walks the syntax tree with a stack of its own, before anything recursive sees it. */
function refuseDeepNesting(root: CST.Token): void {
  const stack: { token: CST.Token; depth: number }[] = [{ token: root, depth: 0 }];
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    if (entry.depth > MAX_DEPTH) throw new YamlRefused(`The YAML is nested deeper than ${MAX_DEPTH} levels.`);
    const { token, depth } = entry;
    if ("items" in token) {
      for (const item of token.items) {
        if ("key" in item && item.key) stack.push({ token: item.key, depth: depth + 1 });
        if ("value" in item && item.value) stack.push({ token: item.value, depth: depth + 1 });
      }
    } else if (token.type === "document" && token.value) stack.push({ token: token.value, depth });
  }
}

function toObject(document: Document.Parsed | undefined, lines: LineCounter, subject: string): JsonObject {
  const root = document?.contents ?? null;
  if (document === undefined || root === null || (isScalar(root) && root.value === null)) return {};
  const value = new JsonWalk(lines, resolveAliases(document)).toJson(root, 0);
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new YamlRefused(`${subject} is not a mapping of keys to values.`);
  }
  return value as JsonObject; // not an array, as just checked
}

/** The node each alias stands for: the last one before it with that anchor. One pass; the library takes one for each. */
function resolveAliases(document: Document.Parsed): ReadonlyMap<Alias, Node> {
  const anchored = new Map<string, Node>();
  const resolved = new Map<Alias, Node>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchored.get(node.source);
        if (target !== undefined) resolved.set(node, target);
      } else if (isNode(node) && node.anchor !== undefined) anchored.set(node.anchor, node);
    },
  });
  return resolved;
}

/** Turns YAML nodes into JSON, counting everything an alias repeats. */
class JsonWalk {
  private values = 0;
  private textChars = 0;
  private readonly open = new Set<Node>();

  private readonly lines: LineCounter;
  private readonly aliases: ReadonlyMap<Alias, Node>;

  constructor(lines: LineCounter, aliases: ReadonlyMap<Alias, Node>) {
    this.lines = lines;
    this.aliases = aliases;
  }

  toJson(node: unknown, depth: number): JsonValue {
    if (isAlias(node)) return this.toJson(this.targetOf(node), depth);
    this.values += 1;
    if (this.values > MAX_VALUES)
      throw new YamlRefused(`The YAML expands to more than ${MAX_VALUES} values.`);
    if (depth > MAX_DEPTH) throw new YamlRefused(`The YAML is nested deeper than ${MAX_DEPTH} levels.`);
    this.checkTag(node);
    if (isScalar(node)) return this.scalarToJson(node);
    if (!isMap(node) && !isSeq(node)) return null;
    if (this.open.has(node)) throw new YamlRefused("The YAML contains a cycle.");
    this.open.add(node);
    const value = isSeq(node)
      ? node.items.map((item) => this.toJson(item, depth + 1))
      : this.mapToJson(node.items, depth);
    this.open.delete(node);
    return value;
  }

  private mapToJson(pairs: readonly { key: unknown; value: unknown }[], depth: number): JsonObject {
    const object: Record<string, JsonValue> = {};
    for (const { key: node, value } of pairs) {
      const key = this.keyOf(node);
      if (key === "__proto__") throw this.refuse(node, "a key named __proto__ is not allowed.");
      if (Object.hasOwn(object, key)) throw this.refuse(node, `the key "${excerpt(key)}" stands here twice.`);
      object[key] = this.toJson(value, depth + 1);
    }
    return object;
  }

  private keyOf(node: unknown): string {
    const key = isAlias(node) ? this.targetOf(node) : node;
    if (!isScalar(key)) throw this.refuse(node, "a key is not a plain value.");
    this.checkTag(key);
    const text = String(key.value);
    this.countText(text);
    return text;
  }

  private checkTag(node: unknown): void {
    if (!isNode(node) || node.tag === undefined || CORE_TAGS.has(node.tag)) return;
    throw this.refuse(node, `the tag ${excerpt(node.tag)} is not allowed.`);
  }

  private targetOf(alias: Alias): Node {
    const target = this.aliases.get(alias);
    if (target === undefined) throw this.refuse(alias, `no value has the anchor "${excerpt(alias.source)}".`);
    return target;
  }

  private scalarToJson(node: Scalar): JsonValue {
    const { value } = node;
    if (typeof value === "string") this.countText(value);
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw this.refuse(node, "a value such as .inf, .nan or a big integer cannot be carried as JSON.");
  }

  private countText(text: string): void {
    this.textChars += text.length;
    if (this.textChars > MAX_TEXT_CHARS) {
      throw new YamlRefused(`The YAML expands to more than ${MAX_TEXT_CHARS} characters of text.`);
    }
  }

  private refuse(node: unknown, sentence: string): YamlRefused {
    const offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    return refusal(this.lines, offset, sentence);
  }
}

/**
 * Renders an object as YAML, one `key: <JSON>` per line (contracts §5): no folding, no type guessing, key
 * order kept. What it gives, `parseYaml` reads back equal.
 */
export function renderYaml(value: JsonObject): string {
  return Object.entries(value)
    .map(([key, item]) => `${renderKey(key)}: ${printableJson(item)}\n`)
    .join("");
}

/**
 * Reads what `renderYaml` has written, and whatever else has each key and its value as JSON on a line of its own: many
 * times faster than YAML in general. Nothing for anything that YAML might take differently.
 */
function parseRendered(text: string): JsonObject | undefined {
  if (/[\t\ufeff]|\r(?!\n)/.test(text)) return undefined;
  const object: Record<string, JsonValue> = {};
  let values = 0;
  const isPlain = (value: JsonValue, depth: number): boolean => {
    values += 1;
    if (values > MAX_VALUES || depth > MAX_PLAIN_DEPTH) return false;
    if (typeof value === "number") return Number.isFinite(value);
    if (value === null || typeof value !== "object") return true;
    return Object.entries(value).every(
      ([key, item]) => key.length < MAX_PLAIN_KEY_CHARS && isPlain(item, depth + 1),
    );
  };
  for (const line of text.split("\n")) {
    if (/^ *\r?$/.test(line)) continue;
    const [start, word, quoted] = KEY.exec(line) ?? [];
    if (start === undefined) return undefined;
    const key = quoted === undefined ? word : textOf(quoted);
    const value = parseJsonText(line.slice(start.length));
    if (key === undefined || key === "__proto__" || key.length >= MAX_PLAIN_KEY_CHARS) return undefined;
    if (Object.hasOwn(object, key)) return undefined;
    if (!value.ok || !isPlain(value.value, 1)) return undefined;
    object[key] = value.value;
  }
  return values === 0 ? undefined : object;
}

/** A key and its colon, as the first word of a line or in quotes. */
const KEY = /^(?:(?!(?:true|false|null):)([A-Za-z_][\w-]*)|("(?:[^"\\]|\\.){0,900}")): /i;

function textOf(json: string): string | undefined {
  const parsed = parseJsonText(json);
  return parsed.ok && typeof parsed.value === "string" ? parsed.value : undefined;
}

/** Deeper values and longer keys are left to the library, which knows YAML's bounds. */
const MAX_PLAIN_DEPTH = 50;
const MAX_PLAIN_KEY_CHARS = 500;

/** YAML ends a simple key after 1024 characters; a longer one takes the explicit form, on two lines. */
const MAX_SIMPLE_KEY_CHARS = 1000;

function renderKey(key: string): string {
  if (
    /^[A-Za-z_][\w-]*$/.test(key) &&
    !/^(?:true|false|null)$/i.test(key) &&
    key.length < MAX_SIMPLE_KEY_CHARS
  )
    return key;
  const json = printableJson(key);
  return json.length < MAX_SIMPLE_KEY_CHARS ? json : `? ${json}\n`;
}
