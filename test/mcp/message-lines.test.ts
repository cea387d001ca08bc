import { expect, test } from "vitest";
import { MessageLines } from "../../src/mcp/message-lines.js";

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
const SAID_DONE = { jsonrpc: "2.0", id: 2, result: {} };
/** An answer as it is read: what its server has said stands beside what all results have to have. */
const read = (said: object) => ({ ...SAID_DONE, result: expect.objectContaining({ said }) as unknown });
const DONE = read({});

/** What is read of a text that comes in two pieces. */
function readOf(text: string) {
  const lines = new MessageLines(10_000);
  const bytes = Buffer.from(text);
  const all: unknown[] = [];
  for (const piece of [bytes.subarray(0, 7), bytes.subarray(7)]) {
    lines.append(piece);
    for (;;) {
      try {
        const message = lines.readMessage();
        if (message === null) break;
        all.push(message);
      } catch (error) {
        all.push(String(error));
      }
    }
  }
  return { read: all, stray: lines.lastStray };
}

const UNREADABLE = (id: number | string) => ({
  jsonrpc: "2.0",
  id,
  error: expect.objectContaining({ message: "its answer is no message of JSON-RPC 2.0" }) as unknown,
});

test.each<[string, string, readonly unknown[]]>([
  ["one on each line", `${JSON.stringify(PING)}\n${JSON.stringify(SAID_DONE)}\n`, [PING, DONE]],
  [
    "behind a mark of the bytes' order, with Windows' line ends",
    `\uFEFF${JSON.stringify(PING)}\r\n\r\n`,
    [PING],
  ],
  ["in a list, with what is none", `${JSON.stringify([PING, 5, SAID_DONE])}\n`, [PING, DONE]],
  [
    "with null where there is nothing",
    '{"jsonrpc":"2.0","id":2,"error":null,"result":{"_meta":null,"content":[{"text":null}]}}\n',
    [read({ content: [{ text: null }] })],
  ],
  ["an answer with nothing in it, as PHP says that", '{"jsonrpc":"2.0","id":2,"result":[]}\n', [DONE]],
  ["an answer without its version", '{"id":3,"result":{}}\n', [UNREADABLE(3)]],
  ["an answer that is a text", '{"jsonrpc":"2.0","id":"4","result":"x"}\n', [UNREADABLE("4")]],
  ["an answer with what JSON has not", '{"id": 5, "jsonrpc": "2.0", "result": NaN}\n', [UNREADABLE(5)]],
  [
    "behind a progress that is drawn again and again on the same line",
    `loading 50%\rloading 100%\r${JSON.stringify(SAID_DONE)}\n`,
    [DONE],
  ],
  [
    "behind a spinner that was wiped away",
    `fetching\u001B[1G\u001B[0K${JSON.stringify(SAID_DONE)}\r\n`,
    [DONE],
  ],
  ["behind a cursor that is shown again", `\u001B[2K\u001B[?25h ${JSON.stringify(PING)}\n`, [PING]],
  ["words of a log in colour", `\u001B[32mgot\u001B[0m ${JSON.stringify(SAID_DONE)}\n`, []],
  ["an answer that is not whole yet", '{"jsonrpc":"2.0","id":5,"result":{', []],
  ["words about a message", 'got {"jsonrpc":"2.0","id":5,"result":{\n', []],
  [
    "a line of a log with the id of a call",
    '{"level":"info","id":5,"msg":"called"}\n',
    ["Error: A line of JSON is no message."],
  ],
  [
    "a request that cannot be read",
    '{"jsonrpc":"2.0","id":5,"method":7}\n',
    ["Error: A line of JSON is no message."],
  ],
])("messages are read, and answers that cannot be are told: %s", (_, text, expected) => {
  expect(readOf(text).read).toEqual(expected);
});

test("the last line that was no message is kept, cut", () => {
  expect(readOf(`Server started\n${JSON.stringify(PING)}\n`)).toEqual({
    read: [PING],
    stray: "Server started",
  });
  expect(readOf(`{\n  "jsonrpc": "2.0",\n  "id": 1\n}\n`).stray).toBe("}");
  expect(readOf(`${"x".repeat(5_000)}\n`).stray).toHaveLength(300);
});

test("a line without end is given up", () => {
  const lines = new MessageLines(100);
  lines.append(Buffer.alloc(90, "x"));
  expect(() => lines.append(Buffer.alloc(90, "x"))).toThrow("more than 100 bytes");
  expect(lines.readMessage()).toBeNull();
});

test("a long line that comes in crumbs is put together once, and what follows it is read", () => {
  const lines = new MessageLines(2_000_000);
  const long = { ...PING, params: { words: "x".repeat(1_000_000) } };
  const bytes = Buffer.from(`${JSON.stringify(long)}\n${JSON.stringify(SAID_DONE)}\n`);
  const all: unknown[] = [];
  for (let at = 0; at < bytes.length; at += 4) {
    lines.append(bytes.subarray(at, at + 4));
    for (let message = lines.readMessage(); message !== null; message = lines.readMessage())
      all.push(message);
  }
  expect(all).toEqual([long, DONE]);
});
