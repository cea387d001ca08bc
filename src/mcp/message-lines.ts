import { type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/client";

/** An answer has come that cannot be read: it is handed on as an error whose data this is, so that nobody waits for another. */
const UNREADABLE = { isUnreadable: true };
const MAX_BATCH = 1_000;
const MAX_STRAY_CHARS = 300;

/**
 * The messages in what a server writes to its output, each on a line. In the place of the SDK's own, which waits for ever for
 * an answer that it cannot read: versions of the protocol before 2025-06-18 have lists of messages, and runtimes of Windows set a
 * mark of the bytes' order before the first one. Other lines are words that stray there, as those of a program that tells what it does.
 */
export class MessageLines {
  /** The last line that was no message, cut. */
  lastStray = "";
  private readonly maxBytes: number;
  private readonly messages: JSONRPCMessage[] = [];
  private buffer = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  append(chunk: Buffer): void {
    if (this.buffer.length + chunk.length > this.maxBytes) {
      this.clear();
      throw new Error(`A line has more than ${this.maxBytes} bytes.`);
    }
    this.buffer = Buffer.concat([this.buffer, chunk]);
  }

  /** The next message; null where there is none yet. Throws for JSON that is none. */
  readMessage(): JSONRPCMessage | null {
    for (;;) {
      const message = this.messages.shift();
      if (message !== undefined) return message;
      const end = this.buffer.indexOf("\n");
      if (end === -1) return null;
      const line = this.buffer.toString("utf8", 0, end).trim(); // of that mark, too
      this.buffer = this.buffer.subarray(end + 1);
      if (line !== "") this.take(line);
    }
  }

  clear(): void {
    this.buffer = Buffer.alloc(0);
    this.messages.length = 0;
  }

  private take(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      const [, id] = TORN_ANSWER.exec(line) ?? [];
      if (id !== undefined) this.messages.push(unreadable(Number(id)));
      else this.lastStray = line.slice(0, MAX_STRAY_CHARS);
      return;
    }
    const values: readonly unknown[] = Array.isArray(value) ? value.slice(0, MAX_BATCH) : [value];
    const messages = values.map(toMessage).filter((message) => message !== undefined);
    this.messages.push(...messages);
    if (messages.length > 0) return;
    this.lastStray = line.slice(0, MAX_STRAY_CHARS);
    throw new Error("A line of JSON is no message.");
  }
}

/** How an answer begins that is cut off, or holds what JSON has not, such as `NaN`. */
const TORN_ANSWER =
  /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/;

function toMessage(value: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    if (typeof value !== "object" || value === null || !("id" in value) || "method" in value)
      return undefined;
    // A line of a log may have an id as well.
    const isAnswer = ["jsonrpc", "result", "error"].some((key) => key in value);
    return isAnswer && (typeof value.id === "number" || typeof value.id === "string")
      ? unreadable(value.id)
      : undefined;
  }
}

function unreadable(id: number | string): JSONRPCMessage {
  const message = "its answer is no message of JSON-RPC 2.0";
  return { jsonrpc: "2.0", id, error: { code: 0, message, data: UNREADABLE } };
}

/** The server was asked, and what it has answered cannot be read. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof Error && "data" in error && error.data === UNREADABLE;
}
