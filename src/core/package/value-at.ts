import type { JsonObject, JsonValue } from "../json.js";

/** What stands at a dotted path, own properties only; undefined where there is nothing. */
export function valueAt(root: JsonValue, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const key of path.split(".")) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key]; // an index of a list reads like a key
  }
  return value;
}
