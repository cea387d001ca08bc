import { textOf } from "../core/json.js";
import type { TurnUsage } from "../core/run/usage.js";
import { type Fields, fieldsOf } from "../http/answer-json.js";

/** What providers call the ends of answers, in the protocol's words. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["model_length", "length"],
  ["max_length", "length"],
  ["truncated", "length"],
  ["model_context_window_exceeded", "length"],
  ["time_limit", "length"],
  ["error_limit", "length"],
  ["repetition", "length"], // vLLM's, which cuts off what says the same again and again
  ["error_toxic", "content_filter"],
  ["complete", "stop"],
  ["safety", "content_filter"],
  ["content_filtered", "content_filter"],
  ["contentfilter", "content_filter"],
  ["prohibited_content", "content_filter"],
  ["recitation", "content_filter"],
  ["blocklist", "content_filter"],
  ["spii", "content_filter"],
  ["model_armor", "content_filter"],
  ["sensitive", "content_filter"],
  ["image_safety", "content_filter"],
  ["end_turn", "stop"],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool_calls"],
  ["tool_call", "tool_calls"],
]);

/** Limits of a length have many names. */
const A_LENGTH =
  /^(?:max|output|context|token|length)_(?:[a-z]+_){0,3}(?:tokens?|length|limit|exceeded|reached)$/;

/** DashScope's (Qwen) of an answer that was broken off, as where a minute's tokens are used up: the text of the piece that ends it says why. */
const ERROR_WITH_WORDS = "error_finish";

/** Whether the text beside an end is what went wrong, and none of the answer. */
export function endsInWords(end: string): boolean {
  return end === ERROR_WITH_WORDS;
}

/** Ends of answers that were not finished, and of calls that their server could not read; another try may bring one. */
const ENDED_BADLY: ReadonlySet<string> = new Set([
  "failed",
  "user_cancel",
  "malformed_function_call",
  "function_call_filter",
  "unexpected_tool_call",
  "malformed_response",
  "missing_thought_signature",
  "too_many_tool_calls",
  "malformed_tool_use",
  "malformed_model_output",
  "abort",
  "aborted",
  "cancelled",
  "canceled",
  "timeout",
  "overloaded",
  "insufficient_system_resource",
  ERROR_WITH_WORDS,
]);

/** Portkey has the kind of an error there that has come amid an answer (`overloaded_error`), lmdeploy its parser's. */
const AN_ERROR = /(?:^|_)(?:error|exception)$/;

/** Whether an end says that the answer was not finished. */
export function endsBadly(end: string): boolean {
  return ENDED_BADLY.has(end) || AN_ERROR.test(end);
}

/** An end in the protocol's words; what a provider says behind a colon is left out of one that is known. */
export function toFinishReason(text: string): string {
  const plain = text
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_") // as in `FinishReason.MAX_TOKENS` and `toolUse`
    .toLowerCase()
    .replace(/[-\s]/g, "_")
    .replace(/^finish_reason[_.]/, "");
  const [kind = ""] = plain.split(":");
  if (A_LENGTH.test(kind)) return "length";
  if (/_?guardrail(?:s|_[a-z]{1,20})?$/.test(kind)) return "content_filter";
  return FINISH_REASONS.get(kind) ?? (/^[a-z_]{1,40}$/.test(kind) ? kind : text);
}

/** So many times longer than its answer is a request that has left it no room; else it is the answer that is too long. */
const FILLS_CONTEXT = 3;

/** Whether an answer was cut off since its request fills the context: z.ai and Anthropic say so, with others it has nothing, and fewer tokens than it may. */
export function leftNoRoom(
  reason: string,
  { promptTokens, completionTokens }: Pick<TurnUsage, "promptTokens" | "completionTokens">,
  isEmpty: boolean,
  maxTokens = Infinity,
): boolean {
  if (toFinishReason(reason) !== "length") return false;
  const isSaid = saysContext(reason);
  if (promptTokens === 0) return isSaid && isEmpty;
  return isSaid
    ? promptTokens > completionTokens * FILLS_CONTEXT
    : isEmpty && completionTokens <= 1 && completionTokens < maxTokens;
}

/** Whether an end names the context. Else nobody has said that it is full: an answer without anything may have another cause. */
export function saysContext(reason: string): boolean {
  return /context/i.test(reason);
}

/** Where it stands, the protocol's own place first; the last is Anthropic's. */
const ENDS = ["finish_reason", "finishReason", "stop_reason"] as const;

/** How a choice says that it has ended; nothing where it has not, which some servers have a word for. */
export function reasonIn(choice: Fields): string {
  const reason = ENDS.map((name) => endIn(choice, name)).find(Boolean) ?? "";
  // Routers call it `stop` where the provider behind them has broken off, and say beside it what that has said: LiteLLM in fields of its own.
  const places = [choice, fieldsOf(choice["provider_specific_fields"]) ?? {}];
  return places.map((place) => endIn(place, "native_finish_reason")).reduce(moreTelling, reason);
}

function endIn(place: Fields, name: string): string {
  const reason = textOf(place[name]).trim();
  return /^(?:null|none|unspecified|finish_reason_unspecified)$/i.test(reason) ? "" : reason;
}

/** Of two ends that are told, the one that says more: some servers tell one in each piece of a stream, and the true one last. */
export function moreTelling(before: string, reason: string): string {
  return weightOf(reason) > weightOf(before) ? reason : before;
}

function weightOf(reason: string): number {
  if (reason === "") return 0;
  const end = toFinishReason(reason);
  if (end === "length" || tellsEnough(reason)) return 3;
  return ["stop", "tool_calls", "function_call"].includes(end) ? 2 : 1;
}

/** Whether an end says what became of an answer, which may have no message then. */
export function tellsEnough(reason: string): boolean {
  const end = toFinishReason(reason);
  return ["refusal", "content_filter"].includes(end) || endsBadly(end);
}
