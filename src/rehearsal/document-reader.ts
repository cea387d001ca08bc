import { parseDocument } from "yaml";
import { type JsonValue, jsonIn, isRecord } from "../core/json.js";
import { toMap } from "./untrusted.js";

/** What the rehearsal reads is small; more than this is no honest front matter (the state document's bound). */
const MAX_FRONT_MATTER_CHARS = 128 * 1024;
const MAX_DEPTH = 100;
const MAX_ALIASES = 100;
/** Block collections opened one after another on the same line, properties between them included. */
const COMPACT_NESTING = new RegExp(`^[ \\t]*(?:(?:[-?:]|[&!*][^ \\t]*)[ \\t]+){${MAX_DEPTH}}`, "m");

export interface Document {
  /** Undefined when there is no front matter, or none that can be read safely. */
  readonly data: ReadonlyMap<unknown, unknown> | undefined;
  readonly body: string;
  /** False when the front matter does not end: the document was cut off inside it, or has none. */
  readonly closed: boolean;
}

/**
 * Splits a Markdown document at its front matter and parses that, trusting nothing: its size and nesting are
 * checked on the text, because a YAML parser that runs out of stack can take the process with it.
 */
export function readDocument(text: string): Document {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0] !== "---") return { data: undefined, body: text, closed: false };
  const end = lines.indexOf("---", 1);
  // A document that was cut off inside its front matter still has lines worth reading; the last may be half.
  const yaml = lines.slice(1, end === -1 ? lines.length - 1 : end).join("\n");
  const body = end === -1 ? "" : lines.slice(end + 1).join("\n");
  return { data: parseYamlMap(yaml), body, closed: end !== -1 };
}

function parseYamlMap(yaml: string): ReadonlyMap<unknown, unknown> | undefined {
  if (yaml.length > MAX_FRONT_MATTER_CHARS || flowDepth(yaml) > MAX_DEPTH) return undefined;
  if (COMPACT_NESTING.test(yaml)) return undefined;
  return parseJsonLines(yaml) ?? parseYaml(yaml);
}

/** The form in which a runtime writes a state document back: one JSON value per line and key. Many times faster. */
function parseJsonLines(yaml: string): ReadonlyMap<unknown, unknown> | undefined {
  const entries: [string, unknown][] = [];
  for (const line of yaml.split("\n")) {
    const [, key, json] = /^([A-Za-z_][\w-]*): (.+)$/.exec(line) ?? [];
    const value = json === undefined ? undefined : jsonIn(json);
    if (key === undefined || value === undefined) return undefined;
    entries.push([key, value]);
  }
  return new Map(entries);
}

function parseYaml(yaml: string): ReadonlyMap<unknown, unknown> | undefined {
  try {
    // Maps, not objects: names such as __proto__ stay names.
    const document = parseDocument(yaml, {
      schema: "core",
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "silent",
    });
    if (document.errors.length > 0) return undefined;
    const value: unknown = document.toJS({ mapAsMap: true, maxAliasCount: MAX_ALIASES });
    return value instanceof Map ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A nested entry of front matter as a map, whichever way it was parsed. */
export function asMap(value: unknown): ReadonlyMap<unknown, unknown> | undefined {
  if (value instanceof Map) return value;
  return isRecord(value) ? toMap(value) : undefined;
}

/** A value of front matter as JSON, whichever way it was parsed. */
export function jsonOf(value: unknown): JsonValue {
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, item]) => [String(key), jsonOf(item)]));
  if (Array.isArray(value)) return value.map(jsonOf);
  return (value ?? null) as JsonValue; // what neither parser nests is JSON, or a scalar of YAML's core schema
}

/** Brackets are counted wherever they stand, quoted or not: too many of them is reason enough to refuse. */
function flowDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const char of text) {
    if (char === "[" || char === "{") {
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
  }
  return deepest;
}
