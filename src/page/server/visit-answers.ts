import { type Bounded, bounded } from "../../contract/bounded.js";
import type { TranscriptEntry } from "../../contract/reads.js";
import { MAX_TEXT_CHARS } from "../../contract/visit-reads.js";
import { type JsonObject, jsonIn } from "../../core/json.js";
import { defined } from "../../core/defined.js";
import { MAX_ENTRIES_PAGE, type RouteAnswer, type RouteRequest } from "../api.js";
import type { ConversationEntry, Shown } from "../api-visit.js";
import { answered } from "./faults.js";
import type { RunPlace } from "./places.js";

/* What the page says of a visit: what was said, called, written and changed in it. */

/** Characters of all texts of a page of a conversation, of one of them, and of one that comes after the page is full. */
const MAX_PAGE_CHARS = 600_000;
const MAX_SAID_CHARS = 32 * 1024;
const MIN_SAID_CHARS = 500;
/** Longer JSON is shown as its text. */
const MAX_JSON_CHARS = 64 * 1024;

export async function conversationAnswer(
  { reader, runId }: RunPlace,
  { name, limit = MAX_ENTRIES_PAGE, from = -limit, reasoning = false }: RouteRequest<"conversation">,
): Promise<RouteAnswer<"conversation">> {
  const asked = { run: runId, name, from, limit, reasoning };
  const { entries, total } = answered(await reader.ask("read.conversation", asked));
  const first = from < 0 ? Math.max(0, total + from) : Math.min(from, total);
  return { from: first, total, entries: entriesOf(entries) };
}

/** An entry that is asked for alone comes whole, as far as texts do. */
function entriesOf(entries: readonly TranscriptEntry[]): readonly ConversationEntry[] {
  const longest = entries.length === 1 ? MAX_TEXT_CHARS : MAX_SAID_CHARS;
  let room = MAX_PAGE_CHARS;
  const said = (text: string): Bounded => {
    const cut = bounded(text, Math.max(MIN_SAID_CHARS, Math.min(longest, room)));
    room -= cut.text.length;
    return cut;
  };
  return entries.map((entry) => entryOf(entry, said));
}

function entryOf(entry: TranscriptEntry, said: (text: string) => Bounded): ConversationEntry {
  switch (entry.type) {
    case "begin":
    case "fold":
      return entry;
    case "user":
      return { type: "user", nodeId: entry.nodeId, text: said(entry.text), ...defined({ by: entry.by }) };
    case "correction":
      return { ...entry, text: said(entry.text) };
    case "assistant": {
      const { reasoning, ...rest } = entry;
      return {
        ...rest,
        text: said(entry.text),
        ...(reasoning === undefined ? {} : { reasoning: said(reasoning) }),
      };
    }
  }
}

export async function callAnswer(
  { reader, runId }: RunPlace,
  { name, id }: RouteRequest<"call">,
): Promise<RouteAnswer<"call">> {
  const called = answered(await reader.ask("read.call", { run: runId, name, call: id }));
  const result = called.result === null ? {} : { result: shown(called.result) };
  return { id, name: called.name, arguments: shown(called.arguments), ...result };
}

function shown(json: Bounded): Shown {
  if (json.isCut || json.text.length > MAX_JSON_CHARS) return { text: json };
  const value = jsonIn(json.text);
  return value === undefined ? { text: json } : { json: value }; // a model may write what is none
}

export async function writesAnswer({ reader, runId }: RunPlace): Promise<RouteAnswer<"writes">> {
  return answered(await reader.ask("read.writes", { run: runId }));
}

export async function contentAnswer(
  { reader, runId }: RunPlace,
  { sha256 }: RouteRequest<"content">,
): Promise<RouteAnswer<"content">> {
  return answered(await reader.ask("read.content", { run: runId, sha256 }));
}

/** Its beginning is enough: no more of a large file is read. */
export async function artifactAnswer(
  { reader, runId }: RunPlace,
  { path }: RouteRequest<"artifact">,
): Promise<RouteAnswer<"artifact">> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  try {
    for await (const piece of reader.bytes("read.artifact", { run: runId, path })) {
      text += decoder.decode(piece, { stream: true });
      bytes += piece.byteLength;
      if (text.length > MAX_TEXT_CHARS) return { text: { ...bounded(text, MAX_TEXT_CHARS), bytes } };
    }
    return { text: bounded(text + decoder.decode(), MAX_TEXT_CHARS) };
  } catch (error) {
    if (error instanceof TypeError) return { text: null }; // the decoder's
    throw error;
  }
}

export async function documentAnswer(
  { reader, runId }: RunPlace,
  { visit }: RouteRequest<"document">,
): Promise<RouteAnswer<"document">> {
  const asked = { run: runId, ...defined({ visit }) };
  const { variables: _, ...document } = answered(await reader.ask("read.document", asked));
  return document;
}

export async function graphStateAnswer(
  { reader, runId }: RunPlace,
  { visit }: RouteRequest<"graphState">,
): Promise<RouteAnswer<"graphState">> {
  return answered(await reader.ask("read.change", { run: runId, ...defined({ visit }) }));
}

export async function forkPointAnswer(
  { reader, runId }: RunPlace,
  { visit }: RouteRequest<"forkPoint">,
): Promise<RouteAnswer<"forkPoint">> {
  const [point, document] = await Promise.all([
    reader.ask("read.fork", { run: runId, visit }),
    reader.ask("read.document", { run: runId, visit }),
  ]);
  const { nodeId, projectRoot, files } = answered(point);
  const variables: JsonObject = answered(document).variables;
  return {
    visit,
    nodeId,
    projectRoot,
    variables,
    files: files.map(({ path, status }) => ({ path, status })),
  };
}
