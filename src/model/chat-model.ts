import { redactKey } from "../core/prompt/redact-key.js";
import { excerpt } from "../core/text.js";
import type { FunctionTool } from "../core/tools/tool-arguments.js";
import { parseAnswer } from "./answer-json.js";
import { boundedChunks, readErrorText, readText } from "./bounded-body.js";
import { eventData } from "./event-stream.js";
import { classifyModelError, refusedByProvider, timedOut, unusableEndpoint } from "./model-error.js";
import { collectStream, toAnswer } from "./read-answer.js";

/** Which model answers, and how it is reached. */
/** What a million tokens cost, in a currency of the user's choice. */
export interface ModelPrice {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
}

export interface ModelSettings {
  /** Absent where the settings name none. */
  readonly price?: ModelPrice;
  readonly model: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Ask for the answer as a stream. */
  readonly stream: boolean;
  /** Longest wait for one answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

/** A message of OpenAI's chat completions; roles system, user, assistant and tool only. */
export type ChatMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly toolCalls: readonly ChatToolCall[] }
  | { readonly role: "tool"; readonly toolCallId: string; readonly content: string };

export interface ChatToolCall {
  readonly id: string;
  readonly name: string;
  readonly argumentsJson: string;
}

export interface ChatRequest {
  readonly settings: ModelSettings;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly FunctionTool[];
  readonly signal: AbortSignal;
}

export interface ChatAnswer {
  readonly content: string;
  readonly toolCalls: readonly ChatToolCall[];
  readonly finishReason: string;
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number };
  readonly model: string;
}

export interface ChatModel {
  /** One request, no retries. Rejects with a `ModelError`, or as aborted when the signal fires. */
  complete(request: ChatRequest): Promise<ChatAnswer>;
}

/** Any OpenAI-compatible endpoint. */
export function createChatModel(): ChatModel {
  return {
    async complete(request) {
      const { settings, signal } = request;
      const timeout = AbortSignal.timeout(Math.min(settings.timeoutMs, LONGEST_TIMER_MS));
      // Whatever is not read to its end is not left open.
      const over = new AbortController();
      try {
        signal.throwIfAborted();
        return await ask(request, AbortSignal.any([signal, timeout, over.signal]));
      } catch (error) {
        signal.throwIfAborted(); // as aborted: an aborted stream only ends early
        if (timeout.aborted) throw timedOut();
        throw classifyModelError(error, settings.apiKey);
      } finally {
        over.abort();
      }
    },
  };
}

/** What a timer can hold. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

async function ask(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer> {
  const { settings } = request;
  const response = await fetch(endpointOf(settings), {
    method: "POST",
    headers: headersFor(settings),
    body: JSON.stringify(toBody(request)),
    redirect: "manual",
    signal,
  });
  if (response.status >= 300 && response.status < 400) throw redirected(response);
  if (!response.ok) {
    const { status, headers } = response;
    const refusal = { status, headers, body: await readErrorText(response) };
    throw refusedByProvider(refusal, new Date(), settings.apiKey);
  }
  const answer = settings.stream
    ? await collectStream(eventData(boundedChunks(response)), settings.apiKey)
    : toAnswer(parseAnswer(await readText(response)));
  return withoutKey(answer, settings.apiKey);
}

/** Where completions are asked for: a query of the base URL stays one. */
function endpointOf({ baseUrl }: ModelSettings): URL {
  const url = parseUrl(baseUrl ?? "https://api.openai.com/v1");
  if (url === undefined) throw unusableEndpoint("The model's base URL is not a URL. Correct it.");
  if (url.username !== "" || url.password !== "") {
    throw unusableEndpoint(
      "The model's base URL holds a user name or a password. Take them out of it, and give the key on its own.",
    );
  }
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`;
  return url;
}

function parseUrl(text: string, base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/** Following one would hand the prompt to whoever it names. */
function redirected(response: Response): Error {
  const location = response.headers.get("location") ?? "";
  const host = parseUrl(location, response.url)?.host ?? "";
  return unusableEndpoint(
    `The model endpoint answered ${response.status}, a redirect to ${host === "" ? "nowhere" : excerpt(host)}. Redirects are not followed: set the base URL to where the model really answers.`,
  );
}

function headersFor({ apiKey }: ModelSettings): Record<string, string> {
  return {
    accept: "application/json",
    "content-type": "application/json",
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
}

/** Keys shorter than this may be words, such as `ollama`. */
const SHORTEST_KEY = 16;
/** An answer longer than this in all is looked through for the key as it is, and not for its encodings. */
const LONGEST_LOOKED_THROUGH = 16 * 1024;

/** What a model says is written down: the key with which it was asked is not. */
function withoutKey(answer: ChatAnswer, apiKey: string | undefined): ChatAnswer {
  if (apiKey === undefined || apiKey.length < SHORTEST_KEY) return answer;
  const texts = answer.toolCalls.flatMap(({ id, name, argumentsJson }) => [id, name, argumentsJson]);
  const length = [answer.content, ...texts].reduce((sum, text) => sum + text.length, 0);
  const clean = (text: string): string =>
    length > LONGEST_LOOKED_THROUGH ? text.replaceAll(apiKey, "<secret>") : redactKey(text, apiKey);
  return {
    ...answer,
    content: clean(answer.content),
    model: clean(answer.model.slice(0, MAX_NAME_CHARS)),
    finishReason: clean(answer.finishReason.slice(0, MAX_NAME_CHARS)),
    toolCalls: answer.toolCalls.map((call) => ({
      id: clean(call.id),
      name: clean(call.name),
      argumentsJson: clean(call.argumentsJson),
    })),
  };
}

/** Of names that a provider gives. */
const MAX_NAME_CHARS = 1_000;

function toBody({ settings, messages, tools }: ChatRequest): Record<string, unknown> {
  return {
    model: settings.model,
    messages: messages.map(toParam),
    ...(tools.length === 0 ? {} : { tools }),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...(settings.maxTokens === undefined ? {} : { max_completion_tokens: settings.maxTokens }),
    stream: settings.stream,
    ...(settings.stream ? { stream_options: { include_usage: true } } : {}),
  };
}

/** Halves of surrogate pairs are replaced: JSON can carry them, but providers refuse the whole request. */
function toParam(message: ChatMessage): Record<string, unknown> {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.content.toWellFormed() };
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.toolCallId,
        content: message.content.toWellFormed(),
      };
    case "assistant":
      if (message.toolCalls.length === 0) {
        return { role: "assistant", content: message.content.toWellFormed() };
      }
      return {
        role: "assistant",
        content: message.content === "" ? null : message.content.toWellFormed(),
        tool_calls: message.toolCalls.map((call) => ({
          id: call.id,
          type: "function",
          function: { name: call.name, arguments: call.argumentsJson.toWellFormed() },
        })),
      };
  }
}
