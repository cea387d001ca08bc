import { utf8In } from "../../core/written-text.js";

/** What a tool has returned as a text for the model: a text as it is, anything else as JSON, with what JSON does not have as near as it goes. */
export function answerText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  try {
    if (isBytes(answer)) return bytesText(answer);
    const text = JSON.stringify(answer, withoutJson) ?? "";
    return isLost(answer, text)
      ? `${NOT_SHOWN}: it is no data, but ${Object.prototype.toString.call(answer)}`
      : text;
  } catch (error) {
    return `${NOT_SHOWN}: ${thrownWords(error)}`;
  }
}

const NOT_SHOWN = "It has run. What it returned cannot be shown as JSON";

/** JSON has no large integers, maps, sets, errors and bytes. */
function withoutJson(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  const held: unknown = Reflect.get(this as object, key); // a buffer makes a list of numbers of itself before it comes here
  const bytes = [held, value].find(isBytes);
  if (bytes !== undefined) return bytesText(bytes);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>); // of numbers: they would be keys
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return { name: value.name, message: thrownWords(value) };
  if (!(value instanceof Map)) return value;
  const entries: readonly (readonly [unknown, unknown])[] = [...value];
  return entries.every(([each]) => typeof each === "string") ? Object.fromEntries(entries) : entries;
}

type Bytes = ArrayBuffer | Uint8Array | DataView;

function isBytes(value: unknown): value is Bytes {
  return value instanceof ArrayBuffer || value instanceof Uint8Array || value instanceof DataView;
}

/** A file that was read and not decoded is a text, as a rule. */
function bytesText(bytes: Bytes): string {
  return utf8In(bytes) ?? `[${bytes.byteLength} bytes that are no text]`;
}

/** Nothing of it is left: a stream, an answer of HTTP whose body nobody has read. What has fields without a value, or says itself how it is JSON, is whole. */
function isLost(answer: unknown, text: string): boolean {
  if (text !== "{}" || typeof answer !== "object" || answer === null || answer instanceof Map) return false;
  if (Object.keys(answer).length > 0 || "toJSON" in answer) return false;
  const kind: unknown = Object.getPrototypeOf(answer);
  return kind !== null && Object.getPrototypeOf(kind) !== null; // a plain object's is the last of its kind
}

/** The words of whatever was thrown. Never throws. */
export function thrownWords(thrown: unknown): string {
  try {
    if (typeof thrown === "string") return thrown;
    const isObject = typeof thrown === "object" && thrown !== null;
    if (isObject && "message" in thrown && typeof thrown.message === "string" && thrown.message !== "")
      return thrown.message;
    if (thrown instanceof Error) return thrown.name;
    if (isObject) return `it threw ${JSON.stringify(thrown)}`;
    if (typeof thrown === "function") return "it threw a function";
    const primitive = thrown as string | symbol | undefined; // no object and no function
    return `it threw ${String(primitive)}`;
  } catch {
    return "it threw something that cannot be shown";
  }
}
