import type { z } from "zod";
import { defined } from "../defined.js";
import { parseJsonText } from "../json-text.js";
import { type JsonObject, type JsonValue, isList } from "../json.js";
import {
  type Checked,
  type Finding,
  MAX_FINDINGS,
  errorFinding,
  jsonPath,
  listNames,
  quote,
} from "./findings.js";
import { standInFor } from "./stand-in-id.js";

/** Parses a JSON file of a package. */
export function checkJson(file: string, text: string): Checked<JsonValue> {
  const parsed = parseJsonText(text);
  if (parsed.ok) return { value: parsed.value, findings: [] };
  const { path, message, line } = parsed;
  return { findings: [{ ...errorFinding(file, jsonPath(path), message), ...defined({ line }) }] };
}

/** Holds a value against a schema: the typed value, or a finding for every place where it differs. */
export function checkShape<T>(file: string, schema: z.ZodType<T>, value: JsonValue): Checked<T> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return { value: parsed.data, findings: [] };
  const issues = parsed.error.issues.slice(0, MAX_FINDINGS);
  return { findings: issues.flatMap((issue) => issueFindings(file, issue)) };
}

/**
 * As {@link checkShape}, and goes on where little differs: the value as it would be without what was refused, or with a stand-in
 * where something has to be there. So a report has what is wrong elsewhere as well. Whoever finds an error uses no value.
 */
export function checkShapeAnyway<T>(file: string, schema: z.ZodType<T>, value: JsonValue): Checked<T> {
  const { error, data } = schema.safeParse(value);
  if (error === undefined) return { value: data, findings: [] };
  const mended = JSON.parse(JSON.stringify(value)) as JsonValue; // a copy of JSON is JSON
  for (const issue of error.issues.slice(0, MAX_FINDINGS)) mend(mended, issue);
  const { data: rest } = schema.safeParse(mended);
  return { ...checkShape(file, schema, value), ...defined({ value: rest }), isMended: true };
}

/** What may stand for a value that is refused, by its key, where nothing else depends on it. */
const STAND_INS = new Map<PropertyKey, JsonValue>([
  ["schemaVersion", "1.1"],
  ["name", "-"],
  ["version", "0.0.0"],
  ["label", "-"],
  ["type", "subworkflow"], // one that names no workflow is a step
]);

/** What names something, and what is named so: refused in one place, it is in the others too. */
const IDS: ReadonlySet<PropertyKey> = new Set(["id", "from", "to", "entryNodeId", "nodeId", "agentId"]);

function idLike(refused: JsonValue | undefined): string | undefined {
  if (typeof refused === "number") return String(refused);
  return typeof refused !== "string" || refused === "" ? undefined : standInFor(refused);
}

/** Other files name what these hold: without them, they would be told to name nothing. */
const NEEDED = new Set(["workflows"]);

/** Takes what an issue is about out of a value that is ours; an item of a list with its list. */
function mend(root: JsonValue, issue: Issue): void {
  const isUnknown = issue.code === "unrecognized_keys";
  let place: JsonValue = root;
  let inside: Inside | undefined;
  for (const name of isUnknown ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path) {
    if (place === null || typeof place !== "object") return;
    if (!isList(place)) inside = { object: place, key: String(name) }; // a part of the copy
    place = (place as JsonObject)[String(name)] ?? null; // an index of a list reads like a key
  }
  if (inside === undefined) return;
  const { object, key } = inside;
  const standIn = IDS.has(key) ? idLike(object[key]) : STAND_INS.get(key);
  if (isUnknown) for (const refused of issue.keys) delete object[refused];
  else if (standIn !== undefined) object[key] = standIn;
  else if (!NEEDED.has(key)) delete object[key];
}

interface Inside {
  readonly object: Record<string, JsonValue>;
  readonly key: string;
}

type Issue = z.core.$ZodIssue;

function issueFindings(file: string, issue: Issue): readonly Finding[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .slice(0, MAX_FINDINGS)
      .map((key) =>
        errorFinding(file, jsonPath([...issue.path, key]), "is no key of this format: remove or rename it"),
      );
  }
  const meant = issue.code === "invalid_union" ? issue.errors.find(isInside) : undefined;
  if (meant !== undefined) {
    return meant.flatMap((inner) => issueFindings(file, { ...inner, path: [...issue.path, ...inner.path] }));
  }
  return [errorFinding(file, jsonPath(issue.path), describeIssue(issue))];
}

/** Of several forms that a value may have, it is the one whose mistakes lie deeper. */
function isInside(issues: readonly Issue[]): boolean {
  return issues.every(({ path }) => path.length > 0);
}

function describeIssue(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return describeType(issue.expected, issue.input);
    case "invalid_value":
      if (issue.input === undefined) return `is missing: add one of ${listNames(issue.values.map(String))}`;
      return `must be one of ${listNames(issue.values.map(String))}, not ${show(issue.input)}`;
    case "too_small":
      if (issue.origin === "string") return "must not be empty";
      if (issue.origin === "array") return "must have at least one item";
      return `must be at least ${issue.minimum}, not ${show(issue.input)}`;
    case "invalid_format":
      if (issue.format === "datetime") {
        return `must be an ISO date and time with zone, such as 2025-01-31T09:30:00Z, not ${show(issue.input)}`;
      }
      return `${issue.message}, not ${show(issue.input)}`;
    default:
      return issue.input === undefined ? `is missing. ${issue.message}` : issue.message;
  }
}

const NOUNS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function describeType(expected: string, input: unknown): string {
  const noun = Object.hasOwn(NOUNS, expected) ? NOUNS[expected] : expected;
  if (input === undefined) return `is missing: add it as ${noun}`;
  const isBare = typeof input === "number" || typeof input === "boolean";
  const remedy = expected === "string" && isBare ? ": put it in quotes" : "";
  return `must be ${noun}, not ${show(input)}${remedy}`;
}

function show(input: unknown): string {
  if (input === null) return "null";
  if (Array.isArray(input)) return "a list";
  if (typeof input === "string") return quote(input);
  return typeof input === "number" || typeof input === "boolean" ? String(input) : "an object";
}
