import type { JsonValue } from "../core/json.js";

/**
 * JSON text on one physical line whatever is in it: what some readers take for the end of a line, and what YAML calls
 * unprintable, is escaped. `JSON.stringify` sees to the rest, halves of surrogate pairs included.
 */
export function printableJson(value: JsonValue): string {
  return JSON.stringify(value).replace(
    // eslint-disable-next-line no-control-regex -- these are the ones to escape
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
