import { textOf } from "../core/json.js";
import { type Fields, answerOrNone, fieldsOf } from "../http/answer-json.js";

/**
 * What a server has said, or an answer in its place: Groq refuses calls of its own model that are of no tool it was given, or of another
 * shape, and says what they were. As calls they are answered like any other that is wrong; asked again, a model makes them again.
 */
export function withRefusedCall(fields: Fields): Fields {
  const generated = textOf(fieldsOf(fields["error"])?.["failed_generation"]);
  const calls = callsIn(generated);
  if (calls.length === 0) return fields;
  const message = { role: "assistant", content: null, tool_calls: calls };
  return { choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
}

/** The calls that a text is and nothing else: one, or a list. */
function callsIn(generated: string): readonly Fields[] {
  if (!/^\s{0,9}[{[]/.test(generated)) return [];
  const value = answerOrNone(generated);
  const all = (Array.isArray(value) ? (value as readonly unknown[]) : [value]).map(fieldsOf);
  const calls = all.filter((call) => textOf(call?.["name"]) !== "");
  return calls.length < all.length ? [] : calls.map((call) => ({ type: "function", function: call }));
}
