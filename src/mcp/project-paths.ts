import type { JsonObject, JsonValue } from "../core/json.js";
import { isList } from "../core/json.js";
import { PROJECT } from "./server-settings.js";

/** A text that is a path in the project from its beginning to its end. */
const PATH = /^@project(?:\/[^\n\r\0]{0,4096})?$/;

/** Arguments with the project's paths as a server in it knows them: what it names is shown as `@project/…`, and comes back so. */
export function withRealPaths(args: JsonObject, projectRoot: string): JsonObject {
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, realPath(value, projectRoot)]));
}

function realPath(value: JsonValue, projectRoot: string): JsonValue {
  if (typeof value === "string") return PATH.test(value) ? projectRoot + value.slice(PROJECT.length) : value;
  if (value === null || typeof value !== "object") return value;
  return isList(value) ? value.map((item) => realPath(item, projectRoot)) : withRealPaths(value, projectRoot);
}
