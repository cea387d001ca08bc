import type { JsonValue } from "./json.js";

/**
 * The one text of a JSON value, after RFC 8785: keys in the order of their UTF-16 code units, no space, numbers and texts as
 * ECMAScript writes them (-0 is 0). What an object holds as undefined is left out, as JSON does. Half a surrogate pair is written
 * as an escape, where the RFC has no text at all. Throws `TypeError` for what JSON cannot carry. Walks by recursion: parse a
 * stranger's value first.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number" && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || !isPlain(value)) throw new TypeError(`${typeof value} is no JSON`);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

function isPlain(value: object): value is Record<string, JsonValue | undefined> {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Workflow code lives in a context of its own, whose `Object` is another one.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
