import assert from "node:assert/strict";
import { corpusPackage } from "./corpus-package.js";

/**
 * A deliberately simple idea of what the state document does, written apart from the product: objects are merged by
 * hand, the graph is asked by looking through its edges.
 */

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Fields = { [key: string]: Json };

interface Graph {
  readonly entryNodeId: string;
  readonly nodes: readonly { readonly id: string }[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

export const GRAPH = corpusPackage()["workflow.graph.json"] as Graph;

export function effective(raw: string): string {
  return raw.trim() === "" ? GRAPH.entryNodeId : raw.trim();
}

/** What the guard says of a step from one raw node id to another. */
export function transition(from: string, to: string): "ok" | "E_INVALID_TRANSITION" {
  const [old, next] = [effective(from), effective(to)];
  const isNode = GRAPH.nodes.some((node) => node.id === next);
  const hasEdge = GRAPH.edges.some((edge) => edge.from === old && edge.to === next);
  return isNode && (old === next || hasEdge) ? "ok" : "E_INVALID_TRANSITION";
}

export interface Update {
  stepsCompleted?: { append: string[] };
  artifacts?: { append: string[] };
  decisionLog?: { append: Fields[] };
  variables?: { set: Fields };
  currentNodeId?: { set: string };
  updatedAt?: { set: string };
}

/** The fields after an update that the guard lets pass. */
export function applied(before: Fields, update: Update): Fields {
  const after: Fields = structuredClone(before);
  for (const key of ["stepsCompleted", "artifacts"] as const) {
    const list = after[key] as string[];
    for (const item of update[key]?.append ?? []) if (!list.includes(item)) list.push(item);
  }
  (after["decisionLog"] as Fields[]).push(...(update.decisionLog?.append ?? []));
  for (const [key, value] of Object.entries(update.variables?.set ?? {})) {
    Object.defineProperty(after["variables"], key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  if (update.currentNodeId !== undefined) after["currentNodeId"] = update.currentNodeId.set;
  if (update.updatedAt !== undefined) after["updatedAt"] = update.updatedAt.set;
  return after;
}

/** A document taken apart by its lines. */
export interface Parts {
  readonly head: string;
  readonly block: string;
  /** From the closing fence on. */
  readonly tail: string;
}

export function partsOf(document: Uint8Array): Parts {
  const text = Buffer.from(document).toString("latin1"); // byte for byte
  const opening = /^(?:\u00ef\u00bb\u00bf)?---\r?\n/.exec(text)?.[0];
  assert.ok(opening !== undefined, "the document begins with a fence");
  const closing = /^---\r?$/m.exec(text.slice(opening.length));
  assert.ok(closing !== null, "the front matter is closed");
  const end = opening.length + closing.index;
  return { head: opening, block: text.slice(opening.length, end), tail: text.slice(end) };
}

/** Reads front matter as the product writes it: one JSON value per line and key (contracts §5). */
export function fieldsOf(document: Uint8Array): Fields {
  const { block } = partsOf(document);
  const fields: Fields = {};
  for (const line of Buffer.from(block, "latin1").toString("utf8").split("\n").slice(0, -1)) {
    const match = /^(?<key>[A-Za-z_][\w-]*|"(?:[^"\\]|\\.)*"): (?<value>.*)$/u.exec(line);
    assert.ok(match?.groups !== undefined, `a line of front matter: ${line.slice(0, 200)}`);
    const { key = "", value = "" } = match.groups;
    fields[key.startsWith('"') ? (JSON.parse(key) as string) : key] = JSON.parse(value) as Json;
  }
  return fields;
}

/** A document as somebody might write it: JSON values in YAML, and the body of the corpus package. */
export function documentOf(fields: Fields, body = "\r\n# Body\r\nkept --- as it is\n---\nend"): string {
  const lines = Object.entries(fields).map(
    ([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}\n`,
  );
  return `---\n${lines.join("")}---${body}`;
}

/** The smallest valid fields, and what a case adds to them. */
export function fields(more: Fields = {}): Fields {
  return {
    schemaVersion: "1.1",
    workflowType: "corpus",
    currentNodeId: "",
    stepsCompleted: [],
    variables: {},
    decisionLog: [],
    artifacts: [],
    ...more,
  };
}

/** Texts that YAML, JSON, Markdown or a log could take for something else. */
export const ODD_TEXTS: readonly string[] = [
  "",
  " ",
  " lead",
  "trail ",
  "---",
  "\n---\n",
  "...",
  "+++",
  "# comment",
  "a #b",
  "a: b",
  "a:",
  ": b",
  "- item",
  "? key",
  "!!js/function 'x'",
  "!tag",
  "&anchor",
  "*alias",
  "<<",
  "=",
  "{a: 1}",
  "[1]",
  "| block",
  "> folded",
  "%YAML 1.1",
  "@at",
  "`tick`",
  "'single'",
  '"double"',
  "back\\slash \\n \\x41",
  "yes",
  "NO",
  "on",
  "true",
  "False",
  "null",
  "~",
  "Null",
  "0",
  "1.1",
  "0x10",
  "0o17",
  "1e3",
  "1_000",
  ".inf",
  ".NaN",
  "12:30:45",
  "2024-01-01",
  "2024-01-01T00:00:00Z",
  "{{ template }}",
  "${expansion}",
  "line\nbreak",
  "carriage\rreturn",
  "crlf\r\nend",
  "tab\there",
  "\u0000 nul",
  "\u0001\u001b[31m",
  "\u007f delete",
  "\u0085 next line",
  "\u00a0 no-break",
  "\u00ad soft",
  "\u200b zero width",
  "\u2028 separator",
  "\u2029 separator",
  "\ufeff mark",
  "\ufffe\uffff",
  "\ud800 half",
  "half \udfff",
  "😀 pair",
  "e\u0301 é",
  "漢字",
  "constructor",
  "toString",
  "hasOwnProperty",
  "x".repeat(3000),
  "word ".repeat(100),
];
