import { defined } from "./defined.js";
import type { JsonValue } from "./json.js";

/** Deeper nesting is refused before anything recursive sees it (contracts §16). */
const MAX_JSON_DEPTH = 100;

/** More values than any honest file has; what checks them later costs far more than reading them. */
const MAX_JSON_VALUES = 100_000;

/** A parsed text, or the first thing wrong with it: where in the document, and in a sentence. */
export type JsonText =
  | { readonly ok: true; readonly value: JsonValue }
  | {
      readonly ok: false;
      readonly path: readonly (string | number)[];
      readonly message: string;
      /** 1-based, where it is the grammar that a text breaks. */
      readonly line?: number;
    };

/**
 * Parses JSON from strangers. On top of the grammar it refuses what a later reader could take differently:
 * nesting beyond 100 levels, more than 100,000 values, duplicate keys and keys named `__proto__`. A
 * byte-order mark is tolerated. `maxValues` is for a text whose writer is known.
 */
export function parseJsonText(text: string, maxValues = MAX_JSON_VALUES): JsonText {
  const parser = new JsonTextParser(text, { maxValues });
  try {
    return { ok: true, value: parser.parse() };
  } catch (error) {
    if (error instanceof JsonRefused) {
      const { path, message, line } = error;
      return { ok: false, path, message, ...defined({ line }) };
    }
    /* v8 ignore next -- a bug */
    throw error;
  }
}

/**
 * The 1-based line of each place in a JSON text, given by keys and indexes; of the nearest place around it where there is
 * none. Undefined for the document as a whole. What stands after a fault is not looked at.
 */
export function linesInJson(
  text: string,
  places: readonly (readonly string[])[],
): readonly (number | undefined)[] {
  const lines = places.map((): number | undefined => undefined);
  let counted = 0;
  let line = 1;
  const onPlace: OnPlace = (path, index) => {
    for (; counted < index; counted += 1) if (text[counted] === "\n") line += 1;
    for (const [at, place] of places.entries()) {
      if (path.length <= place.length && path.every((key, depth) => String(key) === place[depth]))
        lines[at] = line;
    }
  };
  const parser = new JsonTextParser(text, { onPlace });
  try {
    parser.parse();
  } catch (error) {
    /* v8 ignore next -- a bug */
    if (!(error instanceof JsonRefused)) throw error;
  }
  return lines;
}

class JsonRefused extends Error {
  readonly path: readonly (string | number)[];

  readonly line: number | undefined;

  constructor(path: readonly (string | number)[], message: string, line?: number) {
    super(message);
    this.path = path;
    this.line = line;
  }
}

const BYTE_ORDER_MARK = "\ufeff";
const SPACE = new Set([" ", "\t", "\n", "\r"]);
const NUMBER_CHARS = new Set("+-.0123456789eE");
const LITERALS: readonly (readonly [string, JsonValue])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** Told of each key and item before it is read: its path, and where in the text it begins. */
type OnPlace = (path: readonly (string | number)[], index: number) => void;

/** Containers are walked here, where they can be counted; texts and numbers are left to JSON.parse. */
class JsonTextParser {
  /** Keys and indexes from the root to the value being read. */
  private readonly path: (string | number)[] = [];
  private readonly text: string;
  private index: number;
  private values = 0;

  private readonly onPlace: OnPlace | undefined;
  private readonly maxValues: number;

  constructor(
    text: string,
    { onPlace, maxValues = MAX_JSON_VALUES }: { readonly onPlace?: OnPlace; readonly maxValues?: number },
  ) {
    this.text = text;
    this.onPlace = onPlace;
    this.maxValues = maxValues;
    this.index = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  }

  parse(): JsonValue {
    const value = this.readValue(0);
    this.skipSpace();
    if (this.index < this.text.length) this.refuseHere("nothing may follow the document's one value");
    return value;
  }

  private readValue(depth: number): JsonValue {
    this.values += 1;
    if (this.values > this.maxValues) throw new JsonRefused([], `holds more than ${this.maxValues} values`);
    this.skipSpace();
    const char = this.text[this.index];
    if (char === "{" || char === "[") {
      if (depth >= MAX_JSON_DEPTH)
        throw new JsonRefused([], `is nested deeper than ${MAX_JSON_DEPTH} levels`);
      this.index += 1;
      return char === "{" ? this.readObject(depth) : this.readArray(depth);
    }
    if (char === '"') return this.readString();
    for (const [word, value] of LITERALS) {
      if (!this.text.startsWith(word, this.index)) continue;
      this.index += word.length;
      return value;
    }
    return this.readNumber();
  }

  private readObject(depth: number): JsonValue {
    const object: Record<string, JsonValue> = {};
    for (let first = true; !this.take("}"); first = false) {
      if (!first && !this.take(",")) this.refuseHere("a comma or } is expected");
      this.skipSpace();
      if (this.text[this.index] !== '"') this.refuseHere("a key in double quotes is expected");
      const start = this.index;
      const key = this.readString();
      this.path.push(key);
      this.onPlace?.(this.path, start);
      if (key === "__proto__") this.refuse("a key named __proto__ is not allowed: remove it");
      if (Object.hasOwn(object, key)) this.refuse("the key stands here twice: remove one of the two");
      if (!this.take(":")) this.refuseHere("a colon is expected after a key");
      object[key] = this.readValue(depth + 1);
      this.path.pop();
    }
    return object;
  }

  private readArray(depth: number): JsonValue {
    const items: JsonValue[] = [];
    while (!this.take("]")) {
      if (items.length > 0 && !this.take(",")) this.refuseHere("a comma or ] is expected");
      this.path.push(items.length);
      this.skipSpace();
      this.onPlace?.(this.path, this.index);
      items.push(this.readValue(depth + 1));
      this.path.pop();
    }
    return items;
  }

  private readString(): string {
    const start = this.index;
    let end = start + 1;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
    if (end >= this.text.length) this.refuseHere("a text that begins here is not closed");
    const value = this.leaf(start, end + 1);
    if (typeof value !== "string") {
      return this.refuseHere("a text that begins here holds a control character or a false escape");
    }
    return value;
  }

  private readNumber(): number {
    const start = this.index;
    let end = start;
    while (NUMBER_CHARS.has(this.text[end] ?? "")) end += 1;
    const value = this.leaf(start, end);
    return typeof value === "number" ? value : this.refuseHere("a value is expected");
  }

  private leaf(start: number, end: number): unknown {
    try {
      const value: unknown = JSON.parse(this.text.slice(start, end));
      this.index = end;
      return value;
    } catch {
      return undefined;
    }
  }

  private take(char: string): boolean {
    this.skipSpace();
    if (this.text[this.index] !== char) return false;
    this.index += 1;
    return true;
  }

  private skipSpace(): void {
    while (SPACE.has(this.text[this.index] ?? "")) this.index += 1;
  }

  private refuseHere(expected: string): never {
    const before = this.text.slice(0, this.index).split("\n");
    const column = (before.at(-1) ?? "").length + 1;
    const message = `is not valid JSON: line ${before.length}, column ${column}: ${expected}`;
    return this.refuse(message, before.length);
  }

  private refuse(message: string, line?: number): never {
    throw new JsonRefused([...this.path], message, line);
  }
}
