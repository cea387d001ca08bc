import OpenAI from "openai";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParamsBase,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { FunctionTool } from "../core/tools/tool-arguments.js";
import { ModelError, classifyModelError, timedOut } from "./model-error.js";

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

/** Any OpenAI-compatible endpoint. Clients are kept by endpoint and key, so that connections are reused. */
export function createChatModel(): ChatModel {
  const clients = new Map<string, OpenAI>();

  function clientFor(settings: ModelSettings): OpenAI {
    const key = JSON.stringify([settings.baseUrl, settings.apiKey]);
    const known = clients.get(key);
    if (known !== undefined) return known;
    const client = new OpenAI({
      // Servers on the user's own machine often want no key; the client insists on one.
      apiKey: settings.apiKey ?? "none",
      baseURL: settings.baseUrl ?? "https://api.openai.com/v1",
      organization: null,
      project: null,
      maxRetries: 0, // Temporal owns retries
      logLevel: "off", // it would print answers that it cannot read
      // The client adds headers of its own and those of OPENAI_CUSTOM_HEADERS, whatever the endpoint.
      fetch: (url, init) => fetch(url, { ...init, headers: headersFor(settings) }),
    });
    clients.set(key, client);
    return client;
  }

  return {
    async complete(request) {
      const { settings, signal } = request;
      // The client's own timeout ends with the headers: this one holds until the last byte.
      const timeout = AbortSignal.timeout(Math.min(settings.timeoutMs, LONGEST_TIMER_MS));
      const options = {
        signal: AbortSignal.any([signal, timeout]),
        timeout: LONGEST_TIMER_MS,
        maxRetries: 0,
      };
      const body = toBody(request);
      try {
        const { completions } = clientFor(settings).chat;
        if (!settings.stream) return toAnswer(await completions.create({ ...body, stream: false }, options));
        const streamed = { ...body, stream: true as const, stream_options: { include_usage: true } };
        return await collectStream(await completions.create(streamed, options));
      } catch (error) {
        signal.throwIfAborted(); // as aborted: an aborted stream only ends early
        if (timeout.aborted) throw timedOut();
        throw classifyModelError(error, new Date(), settings.apiKey);
      }
    },
  };
}

/** What a timer can hold. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function headersFor({ apiKey }: ModelSettings): Record<string, string> {
  return {
    accept: "application/json",
    "content-type": "application/json",
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
}

function toBody({ settings, messages, tools }: ChatRequest): Omit<ChatCompletionCreateParamsBase, "stream"> {
  return {
    model: settings.model,
    messages: messages.map(toParam),
    ...(tools.length === 0 ? {} : { tools: [...tools] }),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...(settings.maxTokens === undefined ? {} : { max_completion_tokens: settings.maxTokens }),
  };
}

/** Halves of surrogate pairs are replaced: JSON can carry them, but providers refuse the whole request. */
function toParam(message: ChatMessage): ChatCompletionMessageParam {
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

function toAnswer(answer: ChatCompletion): ChatAnswer {
  // A provider's answer is outside input: its type is a promise nobody has checked.
  const completion = answer as Partial<ChatCompletion> | null | undefined;
  const choice = completion?.choices?.[0];
  const message = choice?.message as ChatCompletion.Choice["message"] | null | undefined;
  if (choice === undefined || !message) throw badResponse("it holds no choice");
  const toolCalls = (message.tool_calls ?? []).flatMap((call) =>
    call.type === "custom"
      ? []
      : [
          {
            id: text(call.id),
            name: text((call.function as Partial<typeof call.function> | undefined)?.name),
            argumentsJson: argumentsText(
              (call.function as Partial<typeof call.function> | undefined)?.arguments,
            ),
          },
        ],
  );
  return {
    content: text(message.content),
    toolCalls,
    finishReason: text(choice.finish_reason),
    usage: toUsage(completion?.usage),
    model: text(completion?.model),
  };
}

async function collectStream(stream: AsyncIterable<ChatCompletionChunk>): Promise<ChatAnswer> {
  let content = "";
  let finishReason = "";
  let model = "";
  let usage: ChatAnswer["usage"] = { promptTokens: 0, completionTokens: 0 };
  const calls = new Map<number, { id: string; name: string; argumentsJson: string }>();
  for await (const chunk of stream) {
    model ||= text(chunk.model);
    if (chunk.usage) usage = toUsage(chunk.usage);
    const choice = (chunk.choices as ChatCompletionChunk["choices"] | undefined)?.[0];
    if (choice === undefined) continue;
    finishReason ||= text(choice.finish_reason);
    const { content: piece, tool_calls: pieces } = (choice.delta as typeof choice.delta | undefined) ?? {};
    content += text(piece);
    for (const delta of pieces ?? []) {
      // Some servers leave the index out: a piece with an id begins a call, one without goes on with the last.
      const last = delta.id === undefined ? Math.max(calls.size - 1, 0) : calls.size;
      const index = (delta.index as number | undefined) ?? last;
      const call = calls.get(index) ?? { id: "", name: "", argumentsJson: "" };
      calls.set(index, call);
      call.id ||= text(delta.id);
      call.name ||= text(delta.function?.name);
      call.argumentsJson += text(delta.function?.arguments);
    }
  }
  if (finishReason === "") throw badResponse("the stream ended early");
  const toolCalls = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
  return { content, toolCalls, finishReason, usage, model };
}

function toUsage(usage: ChatCompletion["usage"] | null): ChatAnswer["usage"] {
  return { promptTokens: count(usage?.prompt_tokens), completionTokens: count(usage?.completion_tokens) };
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Some servers send arguments as an object where the protocol says text. */
function argumentsText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

function badResponse(why: string): ModelError {
  return new ModelError({
    code: "LLM_BAD_RESPONSE",
    message: `The model's answer is not a chat completion: ${why}.`,
    retryable: true,
  });
}
