import { asMap, readDocument } from "./document-reader.js";

const MAX_ITEMS = 100;
const MAX_TEXT = 500;
const MAX_HEADINGS = 40;
const MAX_HEADING_CHARS = 120;

export type Scalar = string | number | boolean;

export interface VariableDeclaration {
  readonly name: string;
  readonly type: string | undefined;
  /** Values the step itself names: its default, its example, its list of values, in this order. */
  readonly suggested: readonly Scalar[];
}

export interface TransitionHint {
  readonly to: string;
  readonly label: string | undefined;
  readonly isDefault: boolean;
}

/** What a step file asks for, as far as a program can tell. */
export interface StepDeclaration {
  readonly title: string | undefined;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly variables: readonly VariableDeclaration[];
  readonly transitions: readonly TransitionHint[];
  readonly headings: readonly Heading[];
}

interface Heading {
  readonly level: number;
  readonly text: string;
}

/** Reads a step file defensively: what has an unexpected shape is left out, what is long is cut. */
export function readStep(text: string): StepDeclaration {
  const { data, body } = readDocument(text);
  const read = (key: string): readonly unknown[] => list(data?.get(key));
  return {
    title: shortText(data?.get("title")),
    inputs: read("inputs").flatMap(pathOf),
    outputs: read("outputs").flatMap(pathOf),
    variables: uniqueByName(read("setsVariables").flatMap(variableOf)),
    transitions: read("transitions").flatMap(transitionOf),
    headings: headingsOf(body),
  };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, MAX_ITEMS) : [];
}

function shortText(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  return text === "" || text.length > MAX_TEXT ? undefined : text;
}

function pathOf(item: unknown): string[] {
  const entry = asMap(item);
  const text = shortText(entry === undefined ? item : (entry.get("path") ?? entry.get("file")));
  return text === undefined ? [] : [text];
}

function variableOf(item: unknown): VariableDeclaration[] {
  const entry = asMap(item) ?? new Map<unknown, unknown>([["name", item]]);
  const name = shortText(entry.get("name"));
  // The tools refuse a key of this name, wherever it comes from.
  if (name === undefined || name === "__proto__") return [];
  const values = entry.get("values") ?? entry.get("enum") ?? entry.get("options");
  const suggested = [entry.get("default"), entry.get("example"), ...list(values)].filter(isScalar);
  return [{ name, type: shortText(entry.get("type"))?.toLowerCase(), suggested: [...new Set(suggested)] }];
}

function isScalar(value: unknown): value is Scalar {
  if (typeof value === "string") return value.length <= MAX_TEXT;
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

function uniqueByName(variables: readonly VariableDeclaration[]): VariableDeclaration[] {
  return [...new Map(variables.map((variable) => [variable.name, variable])).values()];
}

function transitionOf(item: unknown): TransitionHint[] {
  const entry = asMap(item);
  const to = shortText(entry?.get("to"));
  if (entry === undefined || to === undefined) return [];
  return [{ to, label: shortText(entry.get("label")), isDefault: entry.get("isDefault") === true }];
}

function headingsOf(body: string): Heading[] {
  const headings: Heading[] = [];
  let fenced = false;
  for (const line of body.split(/\r?\n/)) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    const marks = fenced ? undefined : /^(#{1,6})[ \t]/.exec(line)?.[1];
    if (marks === undefined) continue;
    const text = oneLine(line.slice(marks.length), MAX_HEADING_CHARS);
    if (text !== "") headings.push({ level: marks.length, text });
    if (headings.length === MAX_HEADINGS) break;
  }
  return headings;
}

/** Foreign text made fit to be quoted inside a line: no control characters, no line breaks, a bounded length. */
export function oneLine(text: string, maxChars: number): string {
  const clean = text
    .slice(0, maxChars * 4)
    .replace(/[\p{C}\s]+/gu, " ")
    .trim();
  return clean.length > maxChars ? `${Array.from(clean).slice(0, maxChars).join("")}…` : clean;
}
