import { isRecord } from "../core/json.js";

/** The own properties of an object as a map: names from packages never become keys of a plain object. */
export function toMap(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isRecord(value) ? Object.entries(value) : []);
}
