import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createGzip } from "node:zlib";
import { describe, expect, test } from "vitest";
import { objectsIn, parseAnswer } from "../../src/http/answer-json.js";
import { MAX_ANSWER_BYTES } from "../../src/model/answer-bounds.js";
import { createChatModel } from "../../src/model/chat-model.js";
import { eventData } from "../../src/model/event-stream.js";
import { ModelError } from "../../src/model/model-error.js";
import { startRawServer } from "./raw-server.js";

/** What waits in the buffers of two sockets beside what was read. */
const IN_BUFFERS = 12 * 1024 * 1024;

function ask(baseUrl: string, stream: boolean): Promise<unknown> {
  return createChatModel()
    .complete({
      settings: { model: "m", baseUrl, stream, timeoutMs: 300_000 },
      messages: [{ role: "user", content: "words" }],
      tools: [],
      signal: new AbortController().signal,
    })
    .catch((error: unknown) => error);
}

/** Writes pieces until the other side hangs up. Returns how many bytes went out. */
async function writeForever(response: ServerResponse, pieces: () => string | Buffer): Promise<number> {
  let bytes = 0;
  const closed = once(response, "close");
  while (!response.destroyed) {
    const piece = pieces();
    bytes += Buffer.byteLength(piece);
    if (!response.write(piece)) await Promise.race([once(response, "drain"), closed]);
  }
  return bytes;
}

const JSON_TYPE = { "content-type": "application/json" };
const EVENTS = { "content-type": "text/event-stream" };
const fill = "x".repeat(64 * 1024);
const event = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const piece = (value: object) => event({ tool_calls: [{ index: 0, ...value }] });

const WITHOUT_END: readonly (readonly [string, boolean, object, string, string])[] = [
  ["a text", false, JSON_TYPE, '{"choices":[{"message":{"content":"', fill],
  ["spaces", false, JSON_TYPE, "", " ".repeat(64 * 1024)],
  ["nesting", false, JSON_TYPE, "", "[".repeat(64 * 1024)],
  ["pieces of text", true, EVENTS, "", event({ content: fill })],
  ["pieces of arguments", true, EVENTS, "", piece({ function: { arguments: fill } })],
  ["reasoning", true, EVENTS, "", event({ reasoning_content: fill })],
  ["comments", true, EVENTS, "", ": keep-alive\n\n".repeat(4_000)],
  ["empty events", true, EVENTS, "", `data: {${" ".repeat(100)}}\n\n`.repeat(400)],
  ["empty lines", true, EVENTS, "", "\n".repeat(64 * 1024)],
  ["one line", true, EVENTS, "data: ", fill],
  ["one line of another field", true, EVENTS, "event: ", fill],
  ["one event of many lines", true, EVENTS, "", "data: x\n".repeat(8_000)],
];

describe("an answer without end", () => {
  test.each(WITHOUT_END)(
    "of %s is left at the bound, and the connection closed",
    async (_, stream, headers, start, more) => {
      let written: Promise<number> | undefined;
      const server = await startRawServer((response) => {
        response.writeHead(200, { ...headers });
        response.write(start);
        written = writeForever(response, () => more);
      });
      const error = await ask(server.baseUrl, stream);
      expect(error).toBeInstanceOf(ModelError);
      expect(error).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
      expect((error as ModelError).message).toContain(`longer than ${MAX_ANSWER_BYTES} bytes`);
      expect(await written).toBeLessThan(MAX_ANSWER_BYTES + IN_BUFFERS);
      expect(server.requests).toHaveLength(1);
    },
  );

  test.each([false, true])(
    "that is small while it is compressed counts as what it is, streamed: %s",
    async (stream) => {
      let written = 0;
      const server = await startRawServer((response) => {
        response.writeHead(200, { ...(stream ? EVENTS : JSON_TYPE), "content-encoding": "gzip" });
        const gzip = createGzip();
        gzip.pipe(response);
        response.on("close", () => gzip.destroy());
        gzip.on("error", () => undefined);
        const more = () => {
          while (!gzip.destroyed && written < 200_000_000) {
            written += fill.length;
            if (!gzip.write(fill)) {
              gzip.once("drain", more);
              return;
            }
          }
        };
        more();
      });
      expect(await ask(server.baseUrl, stream)).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
    },
  );

  test("that says what went wrong is an error of its status, by its beginning", async () => {
    let written: Promise<number> | undefined;
    const server = await startRawServer((response) => {
      response.writeHead(500, JSON_TYPE);
      written = writeForever(response, () => fill);
    });
    const error = await ask(server.baseUrl, false);
    expect(error).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: true });
    expect((error as ModelError).message.length).toBeLessThan(400);
    expect(await written).toBeLessThan(IN_BUFFERS);
  });

  test("of headers is no answer", async () => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { ...JSON_TYPE, "x-fill": "x".repeat(100_000) });
      response.end("{}");
    });
    expect(await ask(server.baseUrl, false)).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
  });
});

describe("what an answer may have is taken", () => {
  test.each([false, true])("a text of 15 MiB, streamed: %s", async (stream) => {
    const content = "y".repeat(15 * 1024 * 1024);
    const server = await startRawServer((response) => {
      if (stream) {
        response.writeHead(200, EVENTS);
        for (let at = 0; at < content.length; at += 1024 * 1024)
          response.write(event({ content: content.slice(at, at + 1024 * 1024) }));
        response.end('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
      } else {
        response.writeHead(200, JSON_TYPE);
        response.end(JSON.stringify({ choices: [{ message: { content }, finish_reason: "stop" }] }));
      }
    });
    expect(await ask(server.baseUrl, stream)).toMatchObject({ content });
  });
});

describe("a stream of very many", () => {
  test.each<[string, (index: number) => object, object]>([
    ["fields", (index) => ({ [`field${index}`]: 1 }), {}],
    ["fields of a field", (index) => ({ more: { [`field${index}`]: 1 } }), {}],
    ["parts of its content", () => ({ content: [{ type: "text", text: "" }] }), {}],
    ["fields of a call", (index) => ({ tool_calls: [{ index: 0, [`field${index}`]: 1 }] }), {}],
    [
      "calls",
      (index) => ({ tool_calls: [{ index: 0, id: `c${index}`, function: { name: "x", arguments: "{}" } }] }),
      { toolCalls: { length: 40_000 } },
    ],
  ])("%s is read in time linear in their number", async (_, deltaOf, expected) => {
    const all = Array.from({ length: 40_000 }, (__, index) => event(deltaOf(index))).join("");
    const server = await startRawServer((response) => {
      response.writeHead(200, EVENTS);
      response.end(`${all}data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n`);
    });
    expect(await ask(server.baseUrl, true)).toMatchObject({ content: "x", ...expected });
  });
});

describe("the events of a stream", () => {
  async function read(chunks: readonly Uint8Array[]): Promise<readonly string[]> {
    const found: string[] = [];
    const source = (async function* () {
      yield* chunks;
    })();
    for await (const data of eventData(source)) found.push(data);
    return found;
  }
  const text =
    ': hello\r\ndata: {"a":"é\u{1f600}"}\r\n\r\nevent: x\ndata:one\ndata: two\n\nid: 7\rdata: three\r\r\n\n\ndata: last';
  const expected = ['{"a":"é\u{1f600}"}', "one\ntwo", "three", "last"];

  test.each([1, 2, 3, 5, 7, 64, 1_000])("are the same in chunks of %i bytes", async (size) => {
    const bytes = Buffer.from(text);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    expect(await read(chunks)).toEqual(expected);
  });

  test.each<readonly [string, string, readonly string[]]>([
    ["in one line", 'data: {"a":1}\n\n{"error":"x"}\ndata: [DONE]', ['{"a":1}', '{"error":"x"}', "[DONE]"]],
    ["in a line that follows closely", 'data: {"a":1}\n{"error":"x"}', ['{"a":1}', '{"error":"x"}']],
    [
      "over lines, in a list",
      'data: one\n\n[{\n  "error": {\n: still here\n    "code": 429\n  }\n}\n]\n\ndata: two',
      ["one", '[{\n  "error": {\n    "code": 429\n  }\n}\n]', "two"],
    ],
    ["behind comments", ': wait\n\n: wait\n\n{"a":1}', ['{"a":1}']],
    ["as the end alone", "data: one\n\n[DONE]\n", ["one", "[DONE]"]],
  ])("have JSON among them that is in no field: %s", async (_, text, expected) => {
    expect(await read([Buffer.from(text)])).toEqual(expected);
  });

  test("may be indented", async () => {
    expect(await read([Buffer.from("\n  data: one\n  data: two\n\n\tdata:three")])).toEqual([
      "one\ntwo",
      "three",
    ]);
  });
});

describe("JSON that holds too much is not read", () => {
  test.each([
    ["nesting", "[".repeat(101) + "]".repeat(101)],
    ["nesting of objects", '{"a":'.repeat(101) + "1" + "}".repeat(101)],
    ["values", `[${"1,".repeat(100_001)}1]`],
    ["empty lists", `[${"[],".repeat(60_000)}1]`],
  ])("too much %s", (_, json) => {
    expect(() => parseAnswer(json)).toThrow("It is nested deeper than");
  });

  test.each([
    ["brackets in a text", JSON.stringify({ a: "[".repeat(200_000) })],
    ["escaped quotes and brackets in a text", JSON.stringify(['\\"[,'.repeat(100_000), "\\", "x"])],
    ["a hundred levels", "[".repeat(100) + "]".repeat(100)],
  ])("but %s is", (_, json) => {
    expect(parseAnswer(json)).toEqual(JSON.parse(json));
  });
});

test("an answer of objects without end is not taken apart", () => {
  expect(objectsIn("{}".repeat(100_000))).toHaveLength(100_000);
  expect(() => objectsIn("{}".repeat(100_001))).toThrow("It holds more than 100000 objects.");
});
