import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { lstatSync } from "node:fs";
import type {
  JsonAnswers,
  StoreQuestion,
  StoredVisit,
  TranscriptCall,
  TranscriptEntry,
} from "../contract/reads.js";
import { type Result, fail, ok } from "../core/errors.js";
import { type JsonValue, fieldOf, jsonIn, objectOf } from "../core/json.js";
import type { ModelCall } from "../core/tools/model-call.js";
import { unlessUnreadNow } from "../core/system-code.js";
import { excerpt } from "../core/text.js";
import { nestingDepth } from "../core/tools/tool-arguments.js";
import type { AssistantEntry, ConversationEntry } from "../store/runs/conversation.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { Store } from "../store/store.js";
import { auditEvents } from "./audit-events.js";
import { openRun } from "./run-facts.js";

/** Names are asked for by strangers: a file system fails at one that is too long. */
const CONVERSATION = /^([a-z]{1,20}(?:-\d{1,20})?)\.jsonl$/;
const SUMMARY_CHARS = 120;
/** A call that is longer is shown by its beginning, unparsed. */
const MAX_PARSED_CHARS = 1_000_000;

/** The conversations of a run, one for each visit, in order. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL`. */
export async function visitsOf(store: Store, id: string): Promise<Result<JsonAnswers["read.visits"]>> {
  const opened = await openRun(store, id);
  if (!opened.ok) return opened;
  const { files } = opened.value;
  const nodes = new Map<string, string>();
  for (const { kind, id: turn, nodeId } of await auditEvents(files)) {
    if (kind !== "model.turn" || typeof turn !== "string" || typeof nodeId !== "string") continue;
    const visit = `visit-${turn.split(".")[0]}`;
    if (!nodes.has(visit)) nodes.set(visit, nodeId);
  }
  const boundaries = await files.boundaries.all().catch(unlessUnreadNow([]));
  // Of a visit whose first turn is not over, or has failed, the boundary before it says the node.
  const entered = (name: string): string | undefined =>
    boundaries.findLast(({ visit }) => visit < numberOf(name))?.next;
  const names = await conversationsOf(files);
  const visits = names.flatMap((name): readonly StoredVisit[] => {
    const entry = lstatSync(join(files.dir, "conversation", `${name}.jsonl`), { throwIfNoEntry: false });
    // No visit has this number: a run that goes on has looked into it. Another empty one is of a visit whose first answer is under way.
    if (entry === undefined || (entry.size === 0 && name === "visit-0")) return [];
    return [{ name, nodeId: nodes.get(name) ?? entered(name) ?? null, bytes: entry.size }];
  });
  return ok({ visits });
}

export async function conversationsOf(files: RunFiles): Promise<readonly string[]> {
  const dir = join(files.dir, "conversation");
  const entries = await readdir(dir, { withFileTypes: true }).catch(unlessUnreadNow([]));
  const names = entries.flatMap((entry) =>
    entry.isFile() ? (CONVERSATION.exec(entry.name)?.[1] ?? []) : [],
  );
  return names.sort((a, b) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1));
}

/** Which visit a conversation is of; 0 for one of all visits. */
function numberOf(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? 0);
}

/** What was said in one conversation, or a piece of it. Faults: `E_RUN_NOT_FOUND`, `ENOENT`. */
export async function conversationOf(
  store: Store,
  asked: StoreQuestion<"read.conversation">,
): Promise<Result<JsonAnswers["read.conversation"]>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const { files } = opened.value;
  const { name, more = [] } = asked;
  const absent = [name, ...more].find((each) => !isConversation(files, each));
  if (absent !== undefined) return fail("ENOENT", `The run has no conversation "${excerpt(absent, 40)}".`);
  const told = await toldBy(store, files);
  const conversation = files.conversation(name);
  const total = await conversation.count();
  const { from = 0, limit = total, reasoning = false } = asked;
  const first = from < 0 ? Math.max(0, total + from) : from;
  const show = (said: readonly ConversationEntry[]): readonly TranscriptEntry[] =>
    said.map((entry) => shown(entry, { ...told, reasoning }));
  const entries = show(await conversation.entries(first, first + limit));
  if (more.length === 0) return ok({ entries, total });
  const others: (readonly TranscriptEntry[])[] = [];
  for (const other of more) others.push(show(await files.conversation(other).entries()));
  return ok({ entries, total, more: others });
}

function isConversation(files: RunFiles, name: string): boolean {
  if (!CONVERSATION.test(`${name}.jsonl`)) return false;
  const entry = lstatSync(join(files.dir, "conversation", `${name}.jsonl`), { throwIfNoEntry: false });
  return entry?.isFile() === true;
}

/** What an audit log tells of the entries of conversations. */
interface Told {
  /** By a call's id. */
  readonly outcomes: ReadonlyMap<string, string>;
  /** By an answer's id. */
  readonly authors: ReadonlyMap<string, string>;
}

interface Known extends Told {
  readonly reasoning: boolean;
}

/** What was told last, of each store: a transcript asks for each visit, and the log would be looked through for each. */
const toldLast = new WeakMap<Store, { readonly of: string; readonly told: Promise<Told> }>();

function toldBy(store: Store, files: RunFiles): Promise<Told> {
  const entry = lstatSync(files.logFile, { throwIfNoEntry: false, bigint: true });
  const of = [files.logFile, entry?.ino, entry?.size, entry?.mtimeNs].join(" ");
  const last = toldLast.get(store);
  if (last?.of === of) return last.told;
  const told = readTold(files);
  toldLast.set(store, { of, told });
  told.catch(() => toldLast.delete(store)); // whoever waits for it hears of it
  return told;
}

async function readTold(files: RunFiles): Promise<Told> {
  const outcomes = new Map<string, string>();
  const authors = new Map<string, string>();
  for (const event of await auditEvents(files)) {
    const { kind, toolCallId, output, id, by } = event;
    if (kind === "tool.exec" && typeof toolCallId === "string") outcomes.set(toolCallId, outcomeOf(output));
    if (kind === "user.input" && typeof id === "string" && typeof by === "string") authors.set(id, by);
  }
  return { outcomes, authors };
}

function shown(entry: ConversationEntry, { outcomes, authors, reasoning }: Known): TranscriptEntry {
  switch (entry.type) {
    case "begin":
      return { type: "begin", visit: entry.visit };
    case "user": {
      const { id, nodeId, text } = entry;
      const by = authors.get(id);
      return { type: "user", id, nodeId, text, ...(by === undefined ? {} : { by }) };
    }
    case "fold": {
      const { visit, turn, calls } = entry;
      return { type: "fold", visit, turn, calls: calls.length };
    }
    case "correction": {
      const { visit, turn, text } = entry;
      return { type: "correction", visit, turn, text };
    }
    case "assistant": {
      const { visit, turn, content, model } = entry;
      const calls = entry.calls.map((call) => shownCall(call, outcomes.get(call.id)));
      const thought = reasoning ? reasoningOf(entry) : undefined;
      const said = { type: "assistant", visit, turn, text: content, model, calls } as const;
      return thought === undefined ? said : { ...said, reasoning: thought };
    }
  }
}

function shownCall({ id, name, argumentsJson }: ModelCall, outcome: string | undefined): TranscriptCall {
  return {
    id,
    name: excerpt(name, SUMMARY_CHARS),
    summary: summaryOf(argumentsJson),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

/** The path of a call, or the start of its arguments. */
function summaryOf(argumentsJson: string): string {
  const isBounded = argumentsJson.length <= MAX_PARSED_CHARS && nestingDepth(argumentsJson) <= 100;
  const { path } = objectOf(isBounded ? jsonIn(argumentsJson) : undefined);
  return excerpt(typeof path === "string" ? path : argumentsJson, SUMMARY_CHARS);
}

function outcomeOf(output: JsonValue | undefined): string {
  const { ok: done, success, error } = objectOf(output);
  if (done !== false && success !== false) return "ok";
  const code = fieldOf(error, "code");
  return typeof code === "string" ? code : "failed";
}

/** The fields in which providers keep what a model has thought. */
const REASONING_FIELDS = ["reasoning_content", "reasoning", "thinking"];

function reasoningOf({ provider }: AssistantEntry): string | undefined {
  const message = provider?.message ?? {};
  for (const field of REASONING_FIELDS) {
    const value = fieldOf(message, field);
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

/** The results of calls, by their ids; null for one that is not recorded. */
export async function resultsOf(
  store: Store,
  asked: { readonly run: string; readonly calls: readonly string[] },
): Promise<Result<JsonAnswers["read.results"]>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const found = await opened.value.files.calls.findAll(asked.calls);
  const results = asked.calls.map((id) => ({
    id,
    result: (found.get(id)?.result ?? null) as JsonValue, // tool results are JSON
  }));
  return ok({ results });
}
