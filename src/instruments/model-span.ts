import type { api } from "@opentelemetry/sdk-node";
import { redactSecrets } from "../core/prompt/redact.js";
import type { ChatAnswer, ChatMessage, ChatRequest } from "../model/chat.js";
import type { RunContext } from "./run-context.js";
import { defined } from "../core/defined.js";

type Attributes = api.Attributes;

// The names are those of OpenTelemetry's conventions for generative AI, version 1.41, whose status is "development".

const OPENAI = { address: "api.openai.com", port: 443 };

/** What a model is asked, without what is said. */
export function requestAttributes({ settings }: ChatRequest, run: RunContext | undefined): Attributes {
  const { model, temperature, maxTokens, stream } = settings;
  const server = serverOf(settings.baseUrl);
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": providerOf(server.address),
    "gen_ai.request.model": model,
    "server.address": server.address,
    "server.port": server.port,
    ...defined({ "gen_ai.request.temperature": temperature, "gen_ai.request.max_tokens": maxTokens }),
    ...(stream ? { "gen_ai.request.stream": true } : {}),
    ...runAttributes(run),
  };
}

/** Which run it is for: conversations of several nodes are one run's. */
export function runAttributes(run: RunContext | undefined): Attributes {
  if (run === undefined) return {};
  return {
    "gen_ai.conversation.id": run.run.runId,
    ...defined({ "gen_ai.agent.id": run.agentId, "interlock.node.id": run.nodeId }),
  };
}

export function answerAttributes({ model, finishReason, usage }: ChatAnswer): Attributes {
  const { promptTokens, completionTokens, cachedPromptTokens } = usage;
  return {
    "gen_ai.response.model": model,
    "gen_ai.response.finish_reasons": [finishReason],
    "gen_ai.usage.input_tokens": promptTokens,
    "gen_ai.usage.output_tokens": completionTokens,
    ...defined({ "gen_ai.usage.cache_read.input_tokens": cachedPromptTokens }),
  };
}

/** What was said to the model: only where it is asked for in so many words. */
export function inputContent({ messages }: ChatRequest): Attributes {
  const isSystem = (message: ChatMessage): boolean => message.role === "system";
  const instructions = messages.filter(isSystem).map(({ content }) => ({ type: "text", content }));
  return {
    "gen_ai.system_instructions": toJson(instructions),
    "gen_ai.input.messages": toJson(messages.filter((message) => !isSystem(message)).map(toMessage)),
  };
}

export function outputContent({ content, toolCalls, finishReason }: ChatAnswer): Attributes {
  const message = toMessage({ role: "assistant", content, toolCalls });
  return { "gen_ai.output.messages": toJson([{ ...message, finish_reason: finishReason }]) };
}

function toMessage(message: ChatMessage) {
  if (message.role === "tool") {
    const { toolCallId: id, content: response } = message;
    return { role: message.role, parts: [{ type: "tool_call_response", id, response }] };
  }
  const text = message.content === "" ? [] : [{ type: "text", content: message.content }];
  const calls = message.role === "assistant" ? message.toolCalls : [];
  const parts = calls.map(({ id, name, argumentsJson }) => ({
    type: "tool_call",
    id,
    name,
    arguments: argumentsJson,
  }));
  return { role: message.role, parts: [...text, ...parts] };
}

/** Secrets go as they go from logs. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (typeof item === "string" ? redactSecrets(item) : item));
}

function serverOf(baseUrl: string | undefined): { readonly address: string; readonly port: number } {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return OPENAI;
  const { hostname, port, protocol } = new URL(baseUrl);
  return { address: hostname, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/** The names that the conventions have for providers; of others, whose interface it is. */
const PROVIDERS: readonly (readonly [host: RegExp, name: string])[] = [
  [/\.openai\.azure\.com$/, "azure.ai.openai"],
  [/\.inference\.ai\.azure\.com$/, "azure.ai.inference"],
  [/(^|\.)anthropic\.com$/, "anthropic"],
  [/^generativelanguage\.googleapis\.com$/, "gcp.gemini"],
  [/aiplatform\.googleapis\.com$/, "gcp.vertex_ai"],
  [/(^|\.)mistral\.ai$/, "mistral_ai"],
  [/(^|\.)deepseek\.com$/, "deepseek"],
  [/(^|\.)groq\.com$/, "groq"],
  [/(^|\.)perplexity\.ai$/, "perplexity"],
  [/(^|\.)cohere\.(ai|com)$/, "cohere"],
  [/(^|\.)x\.ai$/, "x_ai"],
];

function providerOf(host: string): string {
  return PROVIDERS.find(([pattern]) => pattern.test(host))?.[1] ?? "openai";
}
