import { type JsonValue, isRecord } from "../core/json.js";

/** More values, and deeper, than any answer has: what is read of them costs far more than their bytes. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;

/** An object of an answer: outside input, whose fields are looked at one by one. */
export type Fields = Readonly<Record<string, unknown>>;

/** Parses a part of an answer. Throws a `SyntaxError` for what is no JSON, is nested too deep or holds too much. */
export function parseAnswer(json: string): unknown {
  if (isModest(json)) return JSON.parse(json);
  throw new SyntaxError(
    `It is nested deeper than ${MAX_DEPTH} levels or holds more than ${MAX_VALUES} values.`,
  );
}

/** The same; undefined for what is none. */
export function answerOrNone(json: string): unknown {
  try {
    return parseAnswer(json);
  } catch {
    return undefined;
  }
}

/** Whether a text holds no more values and levels than an answer may. */
function isModest(json: string): boolean {
  let values = 0;
  let depth = 0;
  for (let index = 0; index < json.length; index += 1) {
    switch (json.charCodeAt(index)) {
      case 0x22: // "
        index = endOfText(json, index);
        break;
      case 0x2c: // ,
        values += 1;
        break;
      case 0x5b: // [
      case 0x7b: // {
        values += 1;
        depth += 1;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
    }
    if (values > MAX_VALUES || depth > MAX_DEPTH) return false;
  }
  return true;
}

/** The objects of a text in which several stand one behind the other, as gateways put together what they are sent; else the text as it is. Throws as `parseAnswer` does for too many. */
export function objectsIn(json: string): readonly string[] {
  if (!/\}\s{0,9}\{/.test(json)) return [json];
  const objects: string[] = [];
  let start = 0;
  let depth = 0;
  for (let index = 0; index < json.length; index += 1) {
    const char = json.charCodeAt(index);
    if (char === 0x22) index = endOfText(json, index);
    else if (char === 0x7b) depth += 1;
    else if (char === 0x7d) depth -= 1;
    if (depth !== 0 || char !== 0x7d) continue;
    objects.push(json.slice(start, index + 1));
    if (objects.length > MAX_VALUES) throw new SyntaxError(`It holds more than ${MAX_VALUES} objects.`);
    start = index + 1;
  }
  const rest = json.slice(start);
  return rest.trim() === "" ? objects : [...objects, rest];
}

/** Where the text ends that begins at a quote: at its closing quote, or at the end of everything. */
function endOfText(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end !== -1) {
    let escapes = 0;
    while (json.charCodeAt(end - 1 - escapes) === 0x5c) escapes += 1;
    if (escapes % 2 === 0) return end;
    end = json.indexOf('"', end + 1);
  }
  return json.length;
}

export function fieldsOf(value: unknown): Fields | undefined {
  return isRecord(value) ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The objects of a list. */
export function objectsOf(value: unknown): readonly Fields[] {
  return listOf(value)
    .map(fieldsOf)
    .filter((fields) => fields !== undefined);
}

/** An object, also where a gateway has put a list around it. */
export function unlisted(value: unknown): Fields | undefined {
  return fieldsOf(Array.isArray(value) ? value[0] : value);
}

/** Whether a value came out of a JSON text, as everything in an answer does. */
export function isJson(value: unknown): value is JsonValue {
  return value === null || ["string", "number", "boolean", "object"].includes(typeof value);
}
