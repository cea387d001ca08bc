import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, isObject, jsonIn, textOf } from "../core/json.js";
import { cutText } from "../core/text.js";
import type { FunctionTool } from "../core/tools/tool-arguments.js";
import { fieldsOf } from "../http/answer-json.js";
import type { ModelCall } from "../core/tools/model-call.js";
import type { ChatMessage, ChatRequest } from "./chat.js";
import type { Dialect } from "./dialects.js";
import { plainParameters } from "./plain-schema.js";

/** Where a request goes, and how it is said there. */
export interface Destination {
  readonly endpoint: string;
  readonly dialect: Dialect & { readonly name: string };
}

interface Receiver extends Destination {
  readonly model: string;
  readonly ids: CallIds;
}

type Params = Record<string, unknown>;
type Assistant = Extract<ChatMessage, { role: "assistant" }>;
type ToolMessage = Extract<ChatMessage, { role: "tool" }>;

/** The body of a request, as the destination's dialect has it. */
export function toBody({ settings, messages, tools }: ChatRequest, to: Destination): Record<string, unknown> {
  const { dialect } = to;
  return {
    ...(tools.length > 0 && dialect.reasoningWithTools === "none" ? { reasoning_effort: "none" } : {}),
    ...settings.parameters,
    model: settings.model,
    messages: toParams(withRules(messages, dialect), {
      ...to,
      model: settings.model,
      ids: new CallIds(dialect),
    }),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => toolParam(tool, dialect)) }),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...(settings.maxTokens === undefined ? {} : { [dialect.tokenLimit]: settings.maxTokens }),
    stream: settings.stream,
    ...(settings.stream && dialect.streamOptions ? { stream_options: { include_usage: true } } : {}),
  };
}

/** The messages with the rules they begin with where the dialect has them. */
function withRules(messages: readonly ChatMessage[], { rules }: Dialect): readonly ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== "system");
  const end = first === -1 ? messages.length : first;
  if (rules === "any" || end === 0) return messages;
  const content = messages
    .slice(0, end)
    .map((message) => message.content)
    .join("\n\n");
  const rest = messages.slice(end);
  if (rules === "first") return [{ role: "system", content }, ...rest];
  const [words] = rest;
  return words?.role === "user"
    ? [{ role: "user", content: `${content}\n\n${words.content}` }, ...rest.slice(1)]
    : [{ role: "user", content }, ...rest];
}

function toParams(said: readonly ChatMessage[], to: Receiver): readonly Params[] {
  const params: Params[] = [];
  const { dialect } = to;
  const messages = dialect.parallelCalls === "apart" ? apart(said) : said;
  let hasAnswered = false;
  let called: Assistant["toolCalls"] = [];
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    if (message.role === "assistant" && message.own === true && dialect.ownReads === "words") {
      const results = resultsAfter(messages, index);
      params.push({ role: "user", content: readsInWords(message, results) });
      index += results.length;
      continue;
    }
    if (message.role === "assistant") {
      hasAnswered = true;
      if (dialect.emptyAnswers === "left-out" && isEmpty(message, to)) continue;
      params.push(assistantParam(message, to));
      called = message.toolCalls;
      continue;
    }
    if (message.role === "tool") {
      params.push(resultParam(message, called, to));
      continue;
    }
    if (dialect.afterTools === "assistant" && params.at(-1)?.["role"] === "tool") {
      params.push({ role: "assistant", content: "." });
    }
    const role = message.role === "system" && hasAnswered ? dialect.corrections : message.role;
    params.push({ role, content: message.content });
  }
  return dialect.userMessages === "joined" ? joined(params) : params;
}

/** An answer of several calls as one of each, before its result; what else it holds stands in the first. */
function apart(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.flatMap((message, index): readonly ChatMessage[] => {
    if (message.role === "tool") return []; // stands behind its call
    if (message.role !== "assistant" || message.toolCalls.length === 0) return [message];
    const results = resultsAfter(messages, index);
    return message.toolCalls.flatMap(({ id }, nth) => [
      withCallAlone(message, nth),
      ...results.filter(({ toolCallId }) => toolCallId === id),
    ]);
  });
}

function withCallAlone(message: Assistant, nth: number): Assistant {
  const { toolCalls, provider } = message;
  const alone = {
    ...message,
    content: nth === 0 ? message.content : "",
    toolCalls: toolCalls.slice(nth, nth + 1),
  };
  if (provider === undefined) return alone;
  const { message: _, content: _content, calls = [], ...origin } = provider;
  return { ...alone, provider: { ...(nth === 0 ? provider : origin), calls: calls.slice(nth, nth + 1) } };
}

/** One message for the words of a user that follow one another. */
function joined(params: readonly Params[]): readonly Params[] {
  const all: Params[] = [];
  for (const param of params) {
    const last = all.at(-1);
    const [before, content] = [textOf(last?.["content"]), textOf(param["content"])];
    if (last?.["role"] === "user" && param["role"] === "user")
      all[all.length - 1] = { role: "user", content: `${before}\n\n${content}` };
    else all.push(param);
  }
  return all;
}

/** The results that belong to the calls of a message, right after it. */
function resultsAfter(messages: readonly ChatMessage[], index: number): readonly ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let next = index + 1; next < messages.length; next += 1) {
    const message = messages[next];
    if (message?.role !== "tool") break;
    results.push(message);
  }
  return results;
}

/** What the runtime has read before the first turn: no model has asked for it, so no server is told that one has. */
function readsInWords({ toolCalls }: Assistant, results: readonly ToolMessage[]): string {
  const shown = toolCalls.map(({ id, name, argumentsJson }) => {
    const result = results.find(({ toolCallId }) => toolCallId === id)?.content ?? "null";
    return `- ${name} ${argumentsJson}\n  ${result}`;
  });
  return `PRELOADED\nThe runtime has run these tool calls for you. Each line holds a call, the next one its result as JSON.\n${shown.join("\n")}`;
}

function isEmpty(message: Assistant, to: Receiver): boolean {
  return textIn(message) === "" && message.toolCalls.length === 0 && ownParts(message, to) === undefined;
}

/** Blanks alone are no text: Anthropic and Bedrock refuse the whole conversation for them. */
function textIn({ content }: Assistant): string {
  return content.trim() === "" ? "" : content;
}

/** The parts of a text that its server takes back. */
function ownParts(message: Assistant, to: Receiver): JsonValue | undefined {
  return to.dialect.notTakenBack.includes("content") ? undefined : ownPart(message, to)?.content;
}

/** What of a message belongs to the model that it goes to. */
function ownPart({ provider }: Assistant, to: Receiver): Assistant["provider"] {
  const isOwn = provider?.endpoint === to.endpoint && provider.dialect === to.dialect.name;
  return isOwn && (provider.model ?? to.model) === to.model ? provider : undefined;
}

/** An assistant message goes back as it came; to another model goes what every one knows. */
function assistantParam(message: Assistant, to: Receiver): Record<string, unknown> {
  const { dialect } = to;
  const own = ownPart(message, to);
  const fields = takenBack(withThoughts(own?.message, dialect), dialect);
  const content: JsonValue = ownParts(message, to) ?? textIn(message);
  if (message.toolCalls.length === 0) return { role: "assistant", content, ...fields };
  return {
    role: "assistant",
    content: content === "" || dialect.textBesideCalls === "left-out" ? NO_TEXT[dialect.noText] : content,
    ...fields,
    tool_calls: message.toolCalls.map((call, index) => callParam(call, index, own?.calls?.[index], to)),
  };
}

/** Names that servers have for a model's thoughts, of which they may give one and want another back. */
const THOUGHTS = ["reasoning", "reasoning_text", "thinking"];

/** An answer's own fields, and what the server wants of each beside them: the thoughts, where it has some under another name. */
function withThoughts(own: JsonObject = {}, { foreignMessage }: Dialect): Params {
  const thoughts = THOUGHTS.map((name) => textOf(own[name])).find(Boolean);
  const wanted = Object.entries(foreignMessage).map(([name, none]) => [
    name,
    textOf(own[name]) || (thoughts ?? none),
  ]);
  return { ...own, ...Object.fromEntries(wanted) };
}

function resultParam(
  { toolCallId, content }: ToolMessage,
  called: readonly ModelCall[],
  { dialect, ids }: Receiver,
): Params {
  const call = dialect.resultNames === "sent" ? called.find(({ id }) => id === toolCallId) : undefined;
  const name = call === undefined ? {} : { name: takenName(call.name) };
  return { role: "tool", tool_call_id: ids.of(toolCallId), ...name, content };
}

const NO_TEXT = { null: null, empty: "", dot: "." } as const satisfies Readonly<
  Record<Dialect["noText"], string | null>
>;

function callParam(
  call: ModelCall,
  index: number,
  own: JsonObject | undefined,
  { dialect, ids }: Receiver,
): Record<string, unknown> {
  const id = ids.of(call.id, call.name);
  if (own?.["type"] !== undefined) return { ...own, id };
  // One signature for an answer's first call: that is where servers put their own, and gateways may lose it on its way here.
  const foreign = index > 0 ? {} : takenBack(dialect.foreignCall, dialect);
  const { function: ownOfFunction, ...rest } = own ?? {};
  return {
    ...foreign,
    ...takenBack(rest, dialect),
    id,
    type: "function",
    function: {
      ...takenBack(fieldsOf(ownOfFunction), dialect),
      name: takenName(call.name),
      arguments: takenArguments(call.argumentsJson.toWellFormed(), dialect),
    },
  };
}

/** Fields beside those of the protocol, without what the server refuses. */
function takenBack(fields: Params | undefined, { notTakenBack }: Dialect): Params {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => !notTakenBack.includes(name)));
}

/** A name that a model has made up may be one that no server takes: it would refuse the conversation for ever. */
function takenName(name: string): string {
  const begun = /^[\d-]/.test(name) ? `x${name}` : name; // Gemini and Kimi want a letter or a _ first
  return begun.replace(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}

/** Many servers parse the arguments of former calls: what is no JSON object goes back to them inside one. */
function takenArguments(argumentsJson: string, { brokenArguments }: Dialect): string {
  return brokenArguments === "sent" ? argumentsJson : inObject(argumentsJson);
}

/** The arguments of a call as every server takes them. */
export function inObject(argumentsJson: string): string {
  // xAI takes no space behind the object.
  return isObject(jsonIn(argumentsJson))
    ? argumentsJson.trim()
    : JSON.stringify({ INVALID_JSON: argumentsJson });
}

/** The ids of a request's calls as the dialect takes them: the same one for a call and its result, and in each request. */
class CallIds {
  private readonly form: Dialect["callIds"];
  private readonly counted = new Map<string, string>();

  constructor({ callIds }: Dialect) {
    this.form = callIds;
  }

  /** `name`: what is called, where the id is the call's own. */
  of(id: string, name?: string): string {
    if (this.form === "any") return id;
    if (this.form === "nine") return nineOf(id);
    const known = this.counted.get(id);
    if (known !== undefined || name === undefined) return known ?? id;
    const counted = `functions.${takenName(name)}:${this.counted.size}`;
    this.counted.set(id, counted);
    return counted;
  }
}

function nineOf(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash("sha256")
    .update(id)
    .digest("base64")
    .replace(/[^A-Za-z0-9]/g, "")
    .slice(0, 9);
}

/** Of a tool's description, what OpenAI takes. */
const MAX_DESCRIPTION_CHARS = 1_024;

function toolParam(tool: FunctionTool, { toolSchemas, toolTexts }: Dialect): unknown {
  const { description, parameters } = tool.function;
  return {
    ...tool,
    function: {
      ...tool.function,
      description: toolTexts === "any" ? description : cutText(description, MAX_DESCRIPTION_CHARS - 1),
      parameters: toolSchemas === "full" ? parameters : plainParameters(parameters),
    },
  };
}
