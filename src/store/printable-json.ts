import type { JsonValue } from "../core/json.js";
import { printableJsonText } from "../core/printable.js";

/**
 * JSON text on one physical line, unless it is indented, whatever is in it: what some readers take for the end of a line
 * or for an order to a terminal, what nobody would see, and what YAML calls unprintable, is escaped.
 */
export function printableJson(value: JsonValue, indent = 0): string {
  return printableJsonText(JSON.stringify(value, undefined, indent));
}
