import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  answerAttributes,
  inputContent,
  outputContent,
  requestAttributes,
} from "../../src/instruments/model-span.js";
import { TRACES_NEED } from "../../src/instruments/traces.js";
import type { ChatRequest } from "../../src/model/chat.js";

const request = (baseUrl?: string): ChatRequest => ({
  settings: {
    model: "m",
    stream: true,
    timeoutMs: 1,
    apiKey: "sk-abcdefghijklmnop",
    maxTokens: 5,
    ...(baseUrl && { baseUrl }),
  },
  messages: [
    { role: "system", content: "be exact" },
    { role: "user", content: "token=abcdefgh, please" },
    { role: "assistant", content: "", toolCalls: [{ id: "c", name: "fs_read", argumentsJson: "{}" }] },
    { role: "tool", toolCallId: "c", content: "text" },
  ],
  tools: [],
  signal: new AbortController().signal,
});

test("what traces need is what package.json offers as optional peers, and the page says to install", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const manifest = JSON.parse(read("package.json")) as {
    peerDependencies: Record<string, string>;
    peerDependenciesMeta: Record<string, { optional: boolean }>;
    devDependencies: Record<string, string>;
    dependencies: Record<string, string>;
  };
  const { peerDependencies, peerDependenciesMeta, devDependencies, dependencies } = manifest;
  expect(Object.entries(peerDependencies).map((each) => each.join("@"))).toEqual(TRACES_NEED);
  for (const [name, wants] of Object.entries(peerDependencies)) {
    expect(peerDependenciesMeta[name]).toEqual({ optional: true });
    expect(devDependencies[name]).toBe(wants);
  }
  expect(peerDependencies["@temporalio/interceptors-opentelemetry"]).toBe(dependencies["@temporalio/worker"]);
  expect(read("docs/metrics.md")).toContain(`npm install ${TRACES_NEED.join(" ")}\n`);
});

test.each([
  [undefined, "openai", "api.openai.com", 443],
  ["https://x.openai.azure.com/openai/v1", "azure.ai.openai", "x.openai.azure.com", 443],
  ["https://api.deepseek.com", "deepseek", "api.deepseek.com", 443],
  ["http://127.0.0.1:11434/v1?key=hidden", "openai", "127.0.0.1", 11_434],
])(
  "a model span says where the model answers, without key and query: %s",
  (baseUrl, provider, address, port) => {
    const attributes = requestAttributes(request(baseUrl), undefined);
    expect(attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": "m",
      "gen_ai.request.max_tokens": 5,
      "gen_ai.request.stream": true,
      "server.address": address,
      "server.port": port,
    });
  },
);

test("contents, where they are wanted, have the conventions' form and no secrets", () => {
  const input = inputContent(request());
  expect(JSON.parse(String(input["gen_ai.system_instructions"]))).toEqual([
    { type: "text", content: "be exact" },
  ]);
  expect(JSON.parse(String(input["gen_ai.input.messages"]))).toEqual([
    { role: "user", parts: [{ type: "text", content: "token=<secret>, please" }] },
    { role: "assistant", parts: [{ type: "tool_call", id: "c", name: "fs_read", arguments: "{}" }] },
    { role: "tool", parts: [{ type: "tool_call_response", id: "c", response: "text" }] },
  ]);
  const answer = {
    content: "done",
    toolCalls: [],
    finishReason: "stop",
    usage: { promptTokens: 3, completionTokens: 2, cachedPromptTokens: 1 },
    model: "m-1",
  };
  expect(JSON.parse(String(outputContent(answer)["gen_ai.output.messages"]))).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "done" }], finish_reason: "stop" },
  ]);
  expect(answerAttributes(answer)).toEqual({
    "gen_ai.response.model": "m-1",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.output_tokens": 2,
    "gen_ai.usage.cache_read.input_tokens": 1,
  });
});
