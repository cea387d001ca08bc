import { type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/client";
import { z } from "zod";
import { isList, jsonIn } from "../core/json.js";

/** An answer has come that cannot be read: it is handed on as an error whose data this is, so that nobody waits for another. */
const UNREADABLE = { isUnreadable: true };
/** A message, or the body of an HTTP answer, may have so many bytes: beyond, nothing more of it is read. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
/** What whoever has asked for more is told. */
export const TOO_LONG = "more than 10 MiB at once";
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
  /** A line was longer than it may be. */
  isTooLong = false;
  private readonly maxBytes: number;
  private readonly messages: JSONRPCMessage[] = [];
  /** What has come and is not read yet stands in it from `start` to `end`; no line ends before `searched`. It grows twofold, so that bytes that come one by one are not copied each time. */
  private buffer = Buffer.alloc(0);
  private start = 0;
  private end = 0;
  private searched = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  append(chunk: Buffer): void {
    const unread = this.end - this.start;
    if (unread + chunk.length > this.maxBytes) {
      this.clear();
      this.isTooLong = true;
      throw new Error(`A line has more than ${this.maxBytes} bytes.`);
    }
    if (this.end + chunk.length > this.buffer.length) {
      const grown = Buffer.alloc(2 * (unread + chunk.length));
      this.buffer.copy(grown, 0, this.start, this.end);
      this.buffer = grown;
      this.searched -= this.start;
      this.start = 0;
      this.end = unread;
    }
    this.end += chunk.copy(this.buffer, this.end);
  }

  /** The next message; null where there is none yet. Throws for JSON that is none. */
  readMessage(): JSONRPCMessage | null {
    for (;;) {
      const message = this.messages.shift();
      if (message !== undefined) return message;
      const found = this.buffer.subarray(this.searched, this.end).indexOf("\n");
      if (found === -1) {
        this.searched = this.end;
        if (this.start === this.end) this.letGo();
        return null;
      }
      const lineEnd = this.searched + found;
      const line = this.buffer.toString("utf8", this.start, lineEnd).trim(); // of that mark, too
      this.start = this.searched = lineEnd + 1;
      if (line !== "") this.take(line);
    }
  }

  clear(): void {
    this.letGo();
    this.messages.length = 0;
  }

  private letGo(): void {
    this.buffer = Buffer.alloc(0);
    this.start = this.end = this.searched = 0;
  }

  private take(line: string): void {
    const messages = messagesIn(line) ?? messagesIn(line.replace(DRAWN_OVER, ""));
    this.messages.push(...(messages ?? []));
    if (messages !== undefined && messages.length > 0) return;
    this.lastStray = line.slice(0, MAX_STRAY_CHARS);
    if (messages !== undefined) throw new Error("A line of JSON is no message.");
  }
}

/** What a terminal would show no more of a line: progress that was drawn again, or a spinner that was wiped away. Messages hold neither. */
// eslint-disable-next-line no-control-regex -- terminals are told so
const DRAWN_OVER = /^.*(?:\r|\u001B\[[\d;?]*[A-HJKhl])/s;

/** The messages in a text, an answer that cannot be read among them; undefined where it is no JSON, nor the beginning of an answer. */
export function messagesIn(text: string): readonly JSONRPCMessage[] | undefined {
  const messages = messagesInJson(text);
  const [, id] = messages === undefined ? (TORN_ANSWER.exec(text) ?? []) : [];
  return id === undefined ? messages : [unreadable(Number(id))];
}

/** The same, of a text that may go on; undefined where it is no JSON. */
export function messagesInJson(text: string): readonly JSONRPCMessage[] | undefined {
  const value = jsonIn(text);
  if (value === undefined) return undefined;
  const values = isList(value) ? value.slice(0, MAX_BATCH) : [value];
  return values.map(toMessage).filter((message) => message !== undefined);
}

/** How an answer begins that is cut off, or holds what JSON has not, such as `NaN`. */
const TORN_ANSWER =
  /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/;

/**
 * What one version of the protocol or another wants in each result, and the SDK with it, and nobody here goes by: servers leave some of it
 * out. What they have said themselves stands beside it.
 */
const WANTED = {
  resultType: "complete",
  ttlMs: 0,
  cacheScope: "private",
  tools: [],
  content: [],
  supportedVersions: [],
  capabilities: {},
};

/** A result as its server has said it. */
export function saidAs<T>(schema: z.ZodType<T>): z.ZodType<T> {
  return z
    .looseObject({ said: z.unknown() })
    .transform((result) => result.said)
    .pipe(schema);
}

/**
 * A message without what the protocol leaves out where there is none, and servers that are written by hand say as `null`: an error
 * beside the result, a field of the result.
 */
function withoutNulls(message: unknown): unknown {
  const { result, ...rest } = said(message) ?? {};
  const fields = said(Array.isArray(result) && result.length === 0 ? {} : result); // PHP's empty objects are lists
  if (fields === undefined) return withError(said(message) ?? message);
  const isBeginning = typeof fields["protocolVersion"] === "string";
  return { ...rest, result: { ...WANTED, ...(isBeginning && asBegun(fields)), said: fields } };
}

/**
 * What a server says of itself when it begins, as far as anybody here goes by it. Whether it has tools it says when it is asked for
 * them: some leave their capabilities out, or say a yes in place of an object, and their version.
 */
function asBegun(fields: Readonly<Record<string, unknown>>): object {
  const { capabilities: _, instructions: _instructions, serverInfo, ...rest } = fields;
  const { name, version } = said(serverInfo) ?? {};
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    ...rest,
    capabilities: { tools: {} },
    serverInfo: { name: text(name), version: text(version) },
  };
}

/** JSON-RPC's code of what a server did not expect. */
const INTERNAL_ERROR = -32_603;

/** An error as it has to be: servers that are written by hand say its words alone, or a code of their own. */
function withError(message: unknown): unknown {
  const fields = said(message);
  const { error } = fields ?? {};
  if (error === undefined) return message;
  const {
    code,
    message: words,
    ...rest
  } = typeof error === "string" ? { message: error } : (said(error) ?? {});
  if (typeof words !== "string") return message;
  return {
    ...fields,
    error: { ...rest, code: Number.isInteger(code) ? code : INTERNAL_ERROR, message: words },
  };
}

/** The fields of an object that are not null, but for an id: one that is null is that of a question which could not be read. */
function said(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([key, field]) => field !== null || key === "id"));
}

function toMessage(message: unknown): JSONRPCMessage | undefined {
  const value = withoutNulls(message);
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

const NO_MESSAGE = "its answer is no message of JSON-RPC 2.0";

/** In the place of an answer that cannot be read: why that is so. */
export function unreadable(id: number | string, message = NO_MESSAGE): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: 0, message, data: UNREADABLE } };
}

/** The server was asked, and what it has answered cannot be read. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof Error && "data" in error && said(error.data)?.["isUnreadable"] === true;
}
