import { utf8Length } from "./text.js";

/** A value that JSON can carry. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. Keys come from packages and models: read them with `Object.hasOwn`, never by inheritance. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !isList(value);
}

/** What stands under a name, a field of the value's own; undefined where there is none, or no object. */
export function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined;
export function fieldOf(value: unknown, name: string): unknown;
export function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Whether something is an object with fields, whatever they hold: no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text, a number or a yes or no as a text; undefined for anything else. */
export function scalarText(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** As `fieldOf`, where a text stands there. */
export function textIn(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : undefined;
}

/** A value that is a text; an empty one in the place of anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** What a text says as JSON; undefined where it is none. */
export function jsonIn(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue; // whatever JSON.parse gives is JSON
  } catch {
    return undefined;
  }
}

/** JSON as people read it in a file. */
export function jsonFile(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** How many bytes a value has as JSON, in UTF-8. */
export function jsonBytes(value: unknown): number {
  return utf8Length(JSON.stringify(value));
}

/** JSON that is an object, or an empty one in its place. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
