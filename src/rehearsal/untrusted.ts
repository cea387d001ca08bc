import type { JsonValue } from "../core/json.js";

/** The own properties of an object as a map: names from packages never become keys of a plain object. */
export function toMap(value: unknown): ReadonlyMap<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map<string, unknown>(Object.entries(value))
    : new Map<string, unknown>();
}

/** JSON that may be anything; undefined when it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue; // what JSON.parse returns is a JsonValue
  } catch {
    return undefined;
  }
}
