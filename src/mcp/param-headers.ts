import { isHeaderName } from "../core/header-value.js";
import { fieldOf } from "../core/json.js";

/**
 * What of a call's arguments its request says in headers as well, for proxies to read: what the tool's schema names so. Since its version
 * of 2026-07-28 the protocol has that, and servers refuse a call without them.
 */
export function paramHeaders(schema: unknown, args: unknown): Readonly<Record<string, string>> {
  const properties = fieldOf(schema, "properties");
  if (typeof properties !== "object" || properties === null) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([key, property]) => {
      const value = fieldOf(args, key);
      const name = fieldOf(property, "x-mcp-header");
      const isNamed = typeof name === "string" && isHeaderName(name);
      const own = isNamed && isPlain(value) ? [[`Mcp-Param-${name}`, headerValue(String(value))]] : [];
      return [...own, ...Object.entries(paramHeaders(property, value))];
    }),
  );
}

/** Numbers beyond are not said in the same way by all. */
function isPlain(value: unknown): value is string | number | boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value === "string" || typeof value === "boolean";
}

/** As it is where it is plain ASCII, else in base64. */
function headerValue(text: string): string {
  const isAsItIs = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  return isAsItIs ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}
