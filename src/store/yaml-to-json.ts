import {
  type CST,
  type Document,
  type Node,
  Composer,
  LineCounter,
  Parser,
  isAlias,
  isMap,
  isScalar,
  isSeq,
} from "yaml";
import { type Result, fail, ok } from "../core/errors.js";
import type { JsonObject, JsonValue } from "../core/json.js";

/** Bounds on front matter (contracts §5). */
const MAX_DEPTH = 100;
const MAX_VALUES = 50_000;

/** Refusals inside the walk; turned into a fault at the door. */
class YamlRefused extends Error {}

/**
 * Parses one YAML 1.2 core document whose root is a mapping (or nothing) into plain JSON. Dates stay text.
 * Fault `E_INVALID_FRONTMATTER`: syntax errors with line and column; duplicate or `__proto__` keys, cycles,
 * tags, values JSON cannot carry, alias expansion beyond 50,000 values, nesting beyond 100 levels.
 */
export function parseYaml(text: string): Result<JsonObject> {
  try {
    return ok(toObject(composeDocument(text)));
  } catch (error) {
    if (error instanceof YamlRefused) return fail("E_INVALID_FRONTMATTER", error.message);
    if (error instanceof RangeError) return fail("E_INVALID_FRONTMATTER", "The YAML is too deeply nested.");
    throw error;
  }
}

function composeDocument(text: string): Document.Parsed | undefined {
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  for (const token of tokens) refuseDeepNesting(token);
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    uniqueKeys: true,
    merge: false,
    lineCounter: lines,
  });
  const documents = [...composer.compose(tokens)];
  if (documents.length > 1) throw new YamlRefused("The front matter holds more than one YAML document.");
  const document = documents[0];
  const problem = document?.errors[0] ?? document?.warnings[0];
  if (problem !== undefined) {
    const { line, col } = lines.linePos(problem.pos[0]);
    const sentence = problem.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "");
    throw new YamlRefused(`YAML, line ${line}, column ${col}: ${sentence}`);
  }
  return document;
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

function toObject(document: Document.Parsed | undefined): JsonObject {
  const root = document?.contents ?? null;
  if (document === undefined || root === null || (isScalar(root) && root.value === null)) return {};
  const value = new JsonWalk(document).toJson(root, 0);
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new YamlRefused("The front matter is not a mapping of keys to values.");
  }
  return value as JsonObject; // not an array, as just checked
}

/** Turns YAML nodes into JSON, counting every value an alias repeats. */
class JsonWalk {
  private values = 0;
  private readonly open = new Set<Node>();

  private readonly document: Document.Parsed;

  constructor(document: Document.Parsed) {
    this.document = document;
  }

  toJson(node: unknown, depth: number): JsonValue {
    this.values += 1;
    if (this.values > MAX_VALUES)
      throw new YamlRefused(`The YAML expands to more than ${MAX_VALUES} values.`);
    if (depth > MAX_DEPTH) throw new YamlRefused(`The YAML is nested deeper than ${MAX_DEPTH} levels.`);
    if (isAlias(node)) return this.toJson(node.resolve(this.document), depth);
    if (isScalar(node)) return scalarToJson(node.value);
    if (!isMap(node) && !isSeq(node)) return null;
    if (this.open.has(node)) throw new YamlRefused("The YAML contains a cycle.");
    this.open.add(node);
    const value = isSeq(node)
      ? node.items.map((item) => this.toJson(item, depth + 1))
      : Object.fromEntries(
          node.items.map((pair) => [this.keyOf(pair.key), this.toJson(pair.value, depth + 1)]),
        );
    this.open.delete(node);
    return value;
  }

  private keyOf(node: unknown): string {
    const key = isAlias(node) ? node.resolve(this.document) : node;
    if (!isScalar(key)) throw new YamlRefused("A key is not a plain value.");
    const text = String(key.value);
    if (text === "__proto__") throw new YamlRefused("A key named __proto__ is not allowed.");
    return text;
  }
}

function scalarToJson(value: unknown): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new YamlRefused(`A value such as .inf, .nan or a big integer cannot be carried as JSON.`);
}

/**
 * Renders an object as YAML, one `key: <JSON>` per line (contracts §5): no folding, no type guessing, key
 * order kept. What it gives, `parseYaml` reads back equal.
 */
export function renderYaml(value: JsonObject): string {
  return Object.entries(value)
    .map(([key, item]) => `${renderKey(key)}: ${toPrintableJson(item)}\n`)
    .join("");
}

function renderKey(key: string): string {
  return /^[A-Za-z_][\w-]*$/.test(key) && !/^(?:true|false|null)$/i.test(key) ? key : toPrintableJson(key);
}

/** JSON text in which characters that YAML calls unprintable are escaped. */
function toPrintableJson(value: JsonValue): string {
  return JSON.stringify(value).replace(
    // eslint-disable-next-line no-control-regex -- these are the ones to escape
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
