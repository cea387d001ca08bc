/** A value that JSON can carry. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. Keys come from packages and models: read them with `Object.hasOwn`, never by inheritance. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}
