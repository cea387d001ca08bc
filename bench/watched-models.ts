import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A model's endpoint for somebody who watches. */
export interface WatchedModel {
  readonly baseUrl: string;
  close(): void;
}

/** It never answers. */
export function silentModel(): Promise<WatchedModel> {
  return serve(() => undefined);
}

const WORDS = 25;
const WORD_MS = 200;

/** It writes some words for five seconds, then calls a tool, another one each time: a turn by turn of an agent at work. */
export function writingModel(): Promise<WatchedModel> {
  let turn = 0;
  return serve((response) => {
    turn += 1;
    void write(response, turn);
  });
}

async function write(response: ServerResponse, turn: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const say = (choice: object, more: object = {}): void => {
    const chunk = {
      id: `c${turn}`,
      object: "chat.completion.chunk",
      model: "writing",
      choices: [choice],
      ...more,
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  for (let word = 0; word < WORDS; word += 1) {
    say({ index: 0, delta: { role: "assistant", content: `word${word} ` }, finish_reason: null });
    await sleep(WORD_MS);
  }
  const called = { name: "fs_search", arguments: JSON.stringify({ path: "@pkg", query: `shelf ${turn}` }) };
  const calls = [{ index: 0, id: `call_${turn}`, type: "function", function: called }];
  say({ index: 0, delta: { tool_calls: calls }, finish_reason: null });
  say(
    { index: 0, delta: {}, finish_reason: "tool_calls" },
    { usage: { prompt_tokens: 900, completion_tokens: 60, total_tokens: 960 } },
  );
  response.end("data: [DONE]\n\n");
}

async function serve(answer: (response: ServerResponse) => void): Promise<WatchedModel> {
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
