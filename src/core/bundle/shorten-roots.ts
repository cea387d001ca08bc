import { type JsonObject, type JsonValue, isList } from "../json.js";
import { type BundleLayout, installed, parseBundlePath } from "./bundle-path.js";

/** `{project-root}/bmad/<module>` and `{project-root}/bmad/custom/bundles/<name>` at the beginning of a path. */
const INSTALLED = /\{project[-_]root\}\/[._]?bmad\/(?:custom\/bundles\/)?[A-Za-z0-9._-]+(?=\/)/g;

/** Writes the bundle's and the core's own paths with their variables, so that a model need not know of aliases. */
export function shortenRoots(value: JsonObject, layout: BundleLayout): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shorten(item, layout)]));
}

/** As `shortenRoots`, for a value that is nested at most 100 deep. */
function shorten(value: JsonValue, layout: BundleLayout): JsonValue {
  if (typeof value === "string") {
    return installed(value).replaceAll(INSTALLED, (path) => shortenPath(path, layout));
  }
  if (value === null || typeof value !== "object") return value;
  return isList(value) ? value.map((item) => shorten(item, layout)) : shortenRoots(value, layout);
}

function shortenPath(path: string, layout: BundleLayout): string {
  const parsed = parseBundlePath(path, layout);
  const isRoot = parsed.ok && parsed.value.mount !== "project-root" && parsed.value.segments.length === 0;
  return isRoot ? `{${parsed.value.mount}}` : path;
}
