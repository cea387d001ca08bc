import type { JsonValue } from "../core/json.js";

/**
 * JSON text on one physical line, unless it is indented, whatever is in it: what some readers take for the end of a line
 * or for an order to a terminal, and what YAML calls unprintable, is escaped. `JSON.stringify` sees to the rest, halves of
 * surrogate pairs included.
 */
export function printableJson(value: JsonValue, indent = 0): string {
  return JSON.stringify(value, undefined, indent).replace(
    // eslint-disable-next-line no-control-regex -- these are the ones to escape
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
