import { type JsonObject, type JsonValue, fieldOf, isList, isObject, textOf } from "../core/json.js";
import type { ProviderPart } from "../core/run/provider-part.js";
import { type Fields, fieldsOf, isJson } from "../http/answer-json.js";
import { isOfFunction } from "./read-call.js";

/** A message's own fields and those of its calls; whatever says nothing is left out. */
export function unknownParts(
  message: Readonly<Record<string, unknown>>,
  calls: readonly unknown[],
): Pick<ProviderPart, "message" | "content" | "calls"> {
  // A call in the old form goes back as one of the new.
  const own = withBlocks(without(message, ["role", "content", "tool_calls", "function_call", "usage"]));
  const { content } = message;
  const ownOfCalls = calls.map(unknownOfCall);
  return {
    ...(Object.keys(own).length === 0 ? {} : { message: own }),
    ...(Array.isArray(content) && isJson(content) ? { content } : {}),
    ...(ownOfCalls.some((call) => Object.keys(call).length > 0) ? { calls: ownOfCalls } : {}),
  };
}

/** Portkey streams Anthropic's blocks as pieces, each with its block's place, and takes them back as blocks, as it has them in whole answers. */
function withBlocks(own: JsonObject): JsonObject {
  const pieces = own["content_blocks"];
  const blocks = isList(pieces) ? pieces.map((piece) => fieldOf(piece, "delta")) : [];
  if (blocks.length === 0 || !blocks.every(isObject)) return own;
  const whole = blocks.filter(({ text }) => text !== ""); // as one begins: Anthropic takes none that is empty
  return without({ ...own, content_blocks: whole.map((block) => ({ type: typeOf(block), ...block })) }, []);
}

function typeOf(block: JsonObject): string {
  if (block["data"] !== undefined) return "redacted_thinking";
  return block["thinking"] === undefined ? "text" : "thinking";
}

const OF_CALLS: readonly string[] = ["name", "arguments", "parameters", "input"];

function unknownOfCall(value: unknown): JsonObject {
  const call = fieldsOf(value) ?? {};
  if (!isOfFunction(call)) return without(call, ["id", "index"]);
  const isFlat = fieldsOf(call["function"]) === undefined;
  const own = without(call, ["id", "index", "type", "function", ...(isFlat ? OF_CALLS : [])]);
  const ownOfFunction = without(fieldsOf(call["function"]) ?? {}, OF_CALLS);
  return Object.keys(ownOfFunction).length === 0 ? own : { ...own, function: ownOfFunction };
}

function without(fields: Readonly<Record<string, unknown>>, names: readonly string[]): JsonObject {
  const rest = Object.entries(fields).filter(
    (entry): entry is [string, JsonValue] => !names.includes(entry[0]) && saysSomething(entry[1]),
  );
  return Object.fromEntries(rest);
}

function saysSomething(value: unknown): boolean {
  return (
    value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0) && isJson(value)
  );
}

/** Fields that are told whole each time. */
const WHOLE: ReadonlySet<string> = new Set([
  "id",
  "type",
  "format",
  "role",
  "name",
  "index",
  "model",
  "object",
]);

/** A field of a stream after one more piece: texts grow, lists too, and items of lists that have an index are one. */
function withPiece(key: string, before: unknown, piece: unknown): unknown {
  if (piece === null || piece === undefined) return before;
  if (before === null || before === undefined) return piece;
  if (typeof before === "string" && typeof piece === "string")
    return WHOLE.has(key) ? piece || before : before + piece;
  if (Array.isArray(before) && Array.isArray(piece)) {
    for (const item of piece as readonly unknown[]) addItem(before as unknown[], item); // made by the pieces before
    return before;
  }
  const [known, more] = [fieldsOf(before), fieldsOf(piece)];
  if (known === undefined || more === undefined) return piece;
  return mergePiece(known, more, []);
}

/** Pieces of one item follow one another closely: no more than these are looked through. */
const ITEMS_LOOKED_AT = 32;

function addItem(items: unknown[], item: unknown): void {
  const index = fieldsOf(item)?.["index"];
  const last = items.at(-1);
  if (isMoreOfThought(last, item)) {
    items[items.length - 1] = withPiece("", last, item);
    return;
  }
  const from = Math.max(0, items.length - ITEMS_LOOKED_AT);
  const near = items.slice(from).findIndex((known) => isOneItem(fieldsOf(known), fieldsOf(item)));
  if (typeof index !== "number" || near === -1) items.push(item);
  else items[from + near] = withPiece("", items[from + near], item);
}

/** Items of several kinds, and several of one kind, may have one index: a thought, and the signatures of calls. */
function isOneItem(known: Fields = {}, piece: Fields = {}): boolean {
  const isSame = (field: string): boolean => {
    const [before, more] = [textOf(known[field]), textOf(piece[field])];
    return before === "" || more === "" || before === more;
  };
  return known["index"] === piece["index"] && isSame("type") && isSame("id");
}

/** Thoughts come in pieces without an index too; the piece with the signature is the last of one. */
function isMoreOfThought(last: unknown, item: unknown): boolean {
  const [known, more] = [fieldsOf(last), fieldsOf(item)];
  if (known === undefined || more === undefined || more["index"] !== undefined) return false;
  const isThought = more["type"] === "thinking" || more["type"] === "reasoning.text";
  return isThought && known["type"] === more["type"] && (known["signature"] ?? "") === "";
}

/** An object of a stream after one more piece, without some of the piece's fields: the same object, however many there are. */
export function mergePiece(
  before: Readonly<Record<string, unknown>>,
  piece: Readonly<Record<string, unknown>>,
  except: readonly string[],
): Record<string, unknown> {
  const merged = before as Record<string, unknown>; // made by the pieces before
  for (const [key, value] of Object.entries(piece)) {
    if (key !== "__proto__" && !except.includes(key)) merged[key] = withPiece(key, merged[key], value);
  }
  return merged;
}

/** Text grows; where parts come, what was text so far is the first of them. */
export function withContent(before: unknown, piece: unknown): unknown {
  if (piece === undefined || piece === null) return before;
  if (!Array.isArray(before) && !Array.isArray(piece)) return withPiece("content", before, piece);
  const text = (value: unknown): unknown[] => (textOf(value) === "" ? [] : [{ type: "text", text: value }]);
  const parts: unknown[] = Array.isArray(before) ? (before as unknown[]) : text(before);
  for (const part of Array.isArray(piece) ? (piece as readonly unknown[]) : text(piece)) addPart(parts, part);
  return parts;
}

/** Parts that come piece by piece, as Mistral's thoughts do: sent back so, each would be a thought of its own. */
const GROWING: ReadonlySet<string> = new Set(["text", "thinking", "reasoning", "summary_text"]);

function addPart(parts: unknown[], piece: unknown): void {
  const [last, more] = [fieldsOf(parts.at(-1)), fieldsOf(piece)];
  const type = textOf(more?.["type"]);
  const isMore = GROWING.has(type) && last?.["type"] === type && textOf(last["signature"]) === "";
  if (last === undefined || more === undefined || !isMore) {
    parts.push(piece);
    return;
  }
  const grown = last as Record<string, unknown>; // made by the pieces before
  for (const [key, value] of Object.entries(more)) {
    const before = grown[key];
    if (Array.isArray(before) && Array.isArray(value)) {
      for (const item of value as readonly unknown[]) addPart(before as unknown[], item);
    } else if (key !== "__proto__") grown[key] = withPiece(key, before, value);
  }
}
