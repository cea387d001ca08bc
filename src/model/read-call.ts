import { isObject, jsonIn, textOf } from "../core/json.js";
import { type Fields, answerOrNone, fieldsOf } from "../http/answer-json.js";
import type { ModelCall } from "../core/tools/model-call.js";

/** Whether a call is more than a place for one, which some servers have in each piece. */
export function saysMore(call: Fields): boolean {
  const { id, name, argumentsJson } = toCall(call);
  return id !== "" || name !== "" || argumentsJson !== "{}";
}

/** Whether a call's arguments have come, all of them. */
export function isWhole(call: Fields): boolean {
  const given = argumentsOf(fieldsOf(call["function"]) ?? call) ?? "";
  return given !== "" && isObject(jsonIn(toCall(call).argumentsJson));
}

/** The calls of a stream, without those that LocalAI says again under another index: of one id and tool, with the same arguments, a beginning of them or none. */
export function saidOnce(calls: readonly Fields[]): readonly Fields[] {
  const kept: Fields[] = [];
  const places = new Map<string, number>();
  for (const call of calls) {
    const { id, name, argumentsJson } = toCall(call);
    const key = JSON.stringify([id, name]);
    const place = id === "" ? undefined : places.get(key);
    const before = place === undefined ? "" : toCall(kept[place]).argumentsJson;
    if (place !== undefined && isBeginning(before, argumentsJson)) kept[place] = call;
    else if (place === undefined || !isBeginning(argumentsJson, before)) {
      places.set(key, kept.length);
      kept.push(call);
    }
  }
  return kept;
}

function isBeginning(argumentsJson: string, whole: string): boolean {
  return argumentsJson === "{}" || whole.startsWith(argumentsJson);
}

/** A call of any kind: each gets its reply, also those that no tool here can answer. */
export function toCall(value: unknown): ModelCall {
  const call = fieldsOf(value) ?? {};
  const kind = textOf(call["type"]);
  const body = fieldsOf(call["function"]) ?? fieldsOf(call[kind]) ?? call;
  return {
    id: textOf(call["id"]),
    name: nameOf(kind, ownName(textOf(body["name"]))),
    argumentsJson: argumentsText(argumentsOf(body)),
  };
}

/** A tool's name without what models put around it, as in gpt-oss's `functions.fs_read<|channel|>commentary` and Gemini's `default_api:fs_read`. */
function ownName(name: string): string {
  return name
    .replace(/<\|.*$/s, "")
    .trim()
    .replace(/^(?:functions|default_api)[.:](?=[\w-])/, "");
}

/** Whether a call is one of a function, by the words that servers have for its type: Anthropic's and others'. */
export function isOfFunction({ type }: Fields): boolean {
  return /^(?:function|tool_use|tool_call)?$/i.test(textOf(type));
}

/** The arguments in a call's body, under the names that servers have for them. */
export function argumentsOf(body: Fields): unknown {
  return body["arguments"] ?? body["input"] ?? body["parameters"];
}

/** The call that a part of a text is, as Anthropic has it. */
export function callOfPart(part: unknown): Fields | undefined {
  const { type, id, name, input } = fieldsOf(part) ?? {};
  return type === "tool_use" ? { id, type: "function", function: { name, arguments: input } } : undefined;
}

/** A call that is no function call is under a name that no tool has, in characters that every provider takes back. */
function nameOf(kind: string, name: string): string {
  if (isOfFunction({ type: kind })) return name;
  return `${kind}_${name || "tool"}`.replace(/[^\w-]/g, "_").slice(0, 64);
}

/** Arguments as text: some servers send an object, the text of a text, or nothing where there are none. */
function argumentsText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value ?? {});
  const text = withoutMarks(value.trim());
  if (text === "" || text === "null") return "{}";
  // Gateways to servers that begin a call with an empty object and give its arguments in pieces put one before the other.
  if (/^\{\s{0,9}\}\s{0,9}\{/.test(text)) return text.slice(text.indexOf("}") + 1).trimStart();
  return (text.startsWith('"') && textInText(text)) || withoutRepeats(text);
}

/** So often they are said at most. */
const MOST_TIMES = 8;

/** Arguments that are there several times: gateways take what has come once more, behind its pieces, for one more of them. */
function withoutRepeats(text: string): string {
  for (let times = MOST_TIMES; times > 1; times -= 1) {
    const once = text.slice(0, text.length / times);
    if (once.endsWith("}") && text.startsWith("{", once.length) && once.repeat(times) === text) return once;
  }
  return text;
}

/** Marks of a model's own behind its arguments, such as `<|eot_id|>` or `<end_of_turn>`, which its server should have taken out. */
function withoutMarks(text: string): string {
  return text.replace(/(?<=\})\s{0,9}(?:<[|/]?[\w▁ ]{1,30}\|?>\s{0,9}){1,9}$/, "");
}

function textInText(text: string): string {
  const inner = textOf(answerOrNone(text));
  return inner.trimStart().startsWith("{") ? inner : "";
}
