/** A value that JSON can carry. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. Keys come from packages and models: read them with `Object.hasOwn`, never by inheritance. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** JSON that is an object, or an empty one in its place. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : {}; // it is no list
}
