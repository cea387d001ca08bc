import { once } from "node:events";
import { type Socket, connect } from "node:net";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { FILE_FUNCTION_TOOLS } from "../../src/core/tools/tool-specs.js";
import {
  type RehearsalModel,
  type RehearsalOptions,
  startRehearsalModel,
} from "../../src/rehearsal/server.js";
import type { ChatRequest, Turn } from "../../src/rehearsal/wire.js";
import { type TinyPackage, play } from "./tiny-engine.js";

const running: RehearsalModel[] = [];

async function start(options: RehearsalOptions = {}): Promise<RehearsalModel> {
  const model = await startRehearsalModel(options);
  running.push(model);
  return model;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((model) => model.close()));
});

function clientOf(model: RehearsalModel): OpenAI {
  return new OpenAI({ baseURL: model.baseUrl, apiKey: "none", maxRetries: 0 });
}

const BRIEF = [
  "NODE_BRIEF",
  "- currentNodeId: größe (type=step)",
  "- stepFile: @pkg/steps/a.md",
  "- outputsMap:",
  "- allowedNext:",
  "  - b (label=Go on, default=true, condition=)",
].join("\n");
const REQUEST = {
  model: "interlock-rehearsal",
  messages: [{ role: "user" as const, content: BRIEF }],
  tools: FILE_FUNCTION_TOOLS.map((tool) => ({ ...tool, function: { ...tool.function } })),
};

async function post(model: RehearsalModel, body: string | object): Promise<Response> {
  return fetch(`${model.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

describe("with the openai package as its client", () => {
  test("an answer in one piece has calls, a finish reason and usage", async () => {
    const model = await start();
    const completion = await clientOf(model).chat.completions.create(REQUEST);
    const [choice] = completion.choices;
    expect(completion.model).toBe("interlock-rehearsal");
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(choice?.message.content).toMatch(/^\[rehearsal\] Node größe/);
    const calls = choice?.message.tool_calls ?? [];
    expect(calls.map((call) => (call.type === "function" ? call.function : undefined))).toEqual([
      { name: "fs_read", arguments: '{"path":"@pkg/steps/a.md"}' },
      { name: "fs_read", arguments: '{"path":"@state/workflow.md"}' },
    ]);
    expect(completion.usage?.prompt_tokens).toBeGreaterThan(100);
    expect(completion.usage?.completion_tokens).toBeGreaterThan(10);
    expect(model.requests).toBe(1);
  });

  test("a streamed answer is the same answer", async () => {
    const model = await start();
    const client = clientOf(model);
    const whole = await client.chat.completions.create(REQUEST);
    const stream = client.chat.completions.stream({ ...REQUEST, stream_options: { include_usage: true } });
    const streamed = await stream.finalChatCompletion();
    const essence = (completion: OpenAI.ChatCompletion): unknown => {
      const message = completion.choices[0]?.message;
      const calls = message?.tool_calls ?? [];
      return [
        message?.content,
        calls.map((call) => (call.type === "function" ? [call.function.name, call.function.arguments] : [])),
        completion.choices[0]?.finish_reason,
        completion.usage?.completion_tokens,
      ];
    };
    expect(essence(streamed)).toEqual(essence(whole));
  });

  test("a streamed answer comes in several pieces, text and arguments alike", async () => {
    const text = await (await post(await start(), { ...REQUEST, stream: true })).text();
    const deltas = text.split("\n\n").filter((event) => event.startsWith("data: {"));
    const long = {
      role: "user" as const,
      content: BRIEF.replace("@pkg/steps/a.md", `@pkg/${"ü".repeat(600)}`),
    };
    const body = { ...REQUEST, messages: [long], stream: true };
    const longer = await (await post(await start(), body)).text();
    expect(longer.split("\n\n").length).toBeGreaterThan(deltas.length + 2);
    expect(longer).not.toContain("\uFFFD");
  });

  test("usage is streamed only when it was asked for", async () => {
    const model = await start();
    const seen: unknown[] = [];
    const stream = await clientOf(model).chat.completions.create({ ...REQUEST, stream: true });
    for await (const chunk of stream) seen.push(chunk.usage);
    expect(seen.filter((usage) => usage !== undefined)).toEqual([]);
    const text = await (await post(model, { ...REQUEST, stream: true })).text();
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  test.each([false, true])("a package is walked over the wire, streamed: %s", async (streamed) => {
    const pack: TinyPackage = {
      entry: "a",
      nodes: [
        { id: "a", outputs: ["artifacts/ä.md", "artifacts/b.json"] },
        { id: "b", type: "decision" },
        { id: "z", type: "end" },
      ],
      edges: [
        { from: "a", to: "b" },
        { from: "b", to: "a", isDefault: true },
        { from: "b", to: "z" },
      ],
    };
    const model = await start({ forbiddenJump: true });
    const client = clientOf(model);
    const ids = new Set<string>();
    const answer = async (request: ChatRequest): Promise<Turn> => {
      const body = request as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
      const completion = streamed
        ? await client.chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
        : await client.chat.completions.create(body);
      const message = completion.choices[0]!.message;
      const calls = (message.tool_calls ?? []).flatMap((call) => {
        expect(ids.has(call.id)).toBe(false);
        ids.add(call.id);
        if (call.type !== "function") return [];
        return [{ name: call.function.name, arguments: JSON.parse(call.function.arguments) }];
      });
      return { content: message.content ?? "", calls };
    };
    const played = await play(pack, { answer });
    expect(played.phase).toBe("completed");
    expect(played.path).toEqual(["a", "b", "a", "b", "z"]);
    expect(played.refusals).toEqual(["jump a → z: E_INVALID_TRANSITION"]);
    expect(played.project.get("@project/artifacts/ä.md")).toContain("# Placeholder for artifacts/ä.md");
    expect(model.requests).toBe(played.requests.length);
  });

  test("the models are listed", async () => {
    const ids: string[] = [];
    for await (const model of clientOf(await start()).models.list()) ids.push(model.id);
    expect(ids).toEqual(["interlock-rehearsal"]);
  });

  test("an error arrives as the client's own kind of error", async () => {
    const client = clientOf(await start());
    const call = client.chat.completions.create({ model: "m", messages: [] });
    await expect(call).rejects.toMatchObject({ status: 400, code: "invalid_request" });
  });
});

describe("requests that are not understood", () => {
  test.each([
    ["no JSON", "{", 400, "invalid_json"],
    ["no object", "[]", 400, "invalid_request"],
    ["no messages", { model: "m" }, 400, "invalid_request"],
    ["an unknown role", { model: "m", messages: [{ role: "wizard", content: "x" }] }, 400, "invalid_request"],
    ["several choices", { ...REQUEST, n: 2 }, 400, "invalid_request"],
    ["deep nesting", "[".repeat(1_000_000), 400, "invalid_json"],
  ])("%s is a 400 with a sentence", async (_name, body, status, code) => {
    const model = await start();
    const response = await post(model, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", code } });
    expect(model.requests).toBe(0);
    expect((await post(model, REQUEST)).status).toBe(200);
  });

  test("a body that says it is too large is refused before it is read", async () => {
    const model = await start();
    const answer = await raw(
      model,
      `POST /v1/chat/completions HTTP/1.1\r\nHost: anything\r\nContent-Length: ${64 * 1024 * 1024}\r\n\r\n{`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain("body_too_large");
  });

  test("a body that turns out too large is refused while it is read", async () => {
    const model = await start();
    const piece = "x".repeat(1024 * 1024);
    const chunks = `${piece.length.toString(16)}\r\n${piece}\r\n`.repeat(33);
    const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(await raw(model, `${head}${chunks}0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 413 /);
    expect((await post(model, REQUEST)).status).toBe(200);
  });

  test("other addresses and methods get what there is", async () => {
    const model = await start();
    const missing = await fetch(`${model.baseUrl}/embeddings`, { method: "POST", body: "{}" });
    expect([missing.status, await missing.json()]).toMatchObject([404, { error: { code: "unknown_url" } }]);
    const wrong = await fetch(`${model.baseUrl}/chat/completions`);
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("what is no HTTP is answered and does no harm", async () => {
    const model = await start();
    expect(await raw(model, "nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
    expect((await post(model, REQUEST)).status).toBe(200);
  });
});

describe("the server's life", () => {
  test("it listens on the loopback interface only, on the port it is given", async () => {
    const first = await start();
    expect(first.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    const port = Number(new URL(first.baseUrl).port);
    await expect(startRehearsalModel({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await first.close();
    expect((await start({ port })).baseUrl).toBe(first.baseUrl);
  });

  test("a client that goes away in the middle does no harm", async () => {
    const model = await start();
    const socket = connect(Number(new URL(model.baseUrl).port), "127.0.0.1");
    await beginRequest(socket);
    socket.destroy();
    expect((await post(model, REQUEST)).status).toBe(200);
    expect(model.requests).toBe(1);
  });

  test("close ends open connections at once, and may be called twice", async () => {
    const model = await start();
    const socket = connect(Number(new URL(model.baseUrl).port), "127.0.0.1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    await beginRequest(socket);
    await Promise.all([model.close(), closed]);
    await model.close();
    await expect(post(model, REQUEST)).rejects.toThrow("fetch failed");
  });

  test("an observer sees each request as it came and the answer to it", async () => {
    const seen: unknown[] = [];
    const model = await start({ onRequest: (request) => seen.push(request) });
    const body = JSON.stringify(REQUEST);
    await post(model, body);
    expect(seen).toMatchObject([{ number: 1, body, answer: { calls: [{ name: "fs_read" }, {}] } }]);
  });

  test("a fault of ours is an honest 500, not a dead connection", async () => {
    const model = await start({
      onRequest: () => {
        throw new Error("observer broke");
      },
    });
    const response = await post(model, REQUEST);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { type: "server_error" } });
  });
});

/** Sends the beginning of a request, and waits until the server has told that it reads it. */
async function beginRequest(socket: Socket): Promise<void> {
  const head =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n{";
  socket.write(head);
  expect(String(await once(socket, "data"))).toContain("100 Continue");
}

/** Whether nothing more is to come: the last chunk is there, or as much as was announced. */
function isWhole(answer: string): boolean {
  const bodyAt = answer.indexOf("\r\n\r\n") + 4;
  if (bodyAt < 4) return false;
  if (/^transfer-encoding: chunked\r$/im.test(answer)) return answer.endsWith("0\r\n\r\n");
  const length = Number(/^content-length: (\d+)\r$/im.exec(answer)?.[1] ?? Infinity);
  return Buffer.byteLength(answer.slice(bodyAt)) >= length;
}

/** Sends bytes as they are and gives back all that is answered. */
function raw(model: RehearsalModel, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(model.baseUrl).port), "127.0.0.1");
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (data) => {
      answer += String(data);
      if (isWhole(answer)) socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
    socket.write(bytes);
  });
}
