import { type FetchLike, SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { fieldOf, jsonIn } from "../core/json.js";
import { redactSecrets } from "../core/prompt/redact.js";
import { excerpt } from "../core/text.js";
import { boundedChunks, textOfChunks } from "../http/bounded-body.js";
import { within } from "../within.js";
import { EventLines } from "../http/event-lines.js";
import { wordsOfConnection } from "../http/connection-words.js";
import { readErrorBody, wordsUnder } from "../http/error-body.js";
import { send } from "../http/send.js";
import { TOO_LONG, messagesIn, messagesInJson, unreadable } from "./message-lines.js";
import { type McpServer, tokenVariables } from "./server-settings.js";

type Sent = Parameters<StreamableHTTPClientTransport["send"]>;

/** Requests to a server, with the headers it wants. Nobody follows redirects: a token would go along. */
export function requestsTo(
  url: string,
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
): HttpTransport {
  return new HttpTransport(new URL(url), {
    requestInit: { redirect: "manual", headers },
    fetch: boundedFetch(maxBytes),
    reconnectionScheduler: (reconnect, delayMs) => {
      const timer = setTimeout(reconnect, delayUntilNextStream(delayMs)).unref();
      return () => clearTimeout(timer);
    },
  });
}

const MIN_DELAY_MS = 500;
const MAX_DELAY_MS = 60_000;

/** A server says when a stream that has ended is opened again: at once, without end, is no answer, and never is none either. */
export function delayUntilNextStream(wantedMs: number): number {
  return Math.min(Math.max(wantedMs, MIN_DELAY_MS), MAX_DELAY_MS);
}

/** What the SDK leaves open: a request whose answer ends before it has come is answered with an error whose data this is. */
const LOST = { isLost: true };

class HttpTransport extends StreamableHTTPClientTransport {
  /** The requests that an answer is waited for, each with what ends its stream: servers may leave it open, and the SDK does. */
  private readonly waiting = new Map<number, AbortController>();

  override start(): Promise<void> {
    const tell = this.onmessage;
    const onmessage: typeof tell = (message) => {
      if (!("method" in message)) this.letGo(message.id);
      tell?.(message);
    };
    Object.assign(this, { onmessage }); // no target of events
    return super.start();
  }

  override async send(message: Sent[0], options?: Sent[1]): Promise<void> {
    const id = "method" in message && "id" in message ? message.id : undefined;
    if (id === undefined) return this.tell(message, options);
    const over = new AbortController();
    this.waiting.set(Number(id), over);
    options?.requestSignal?.addEventListener("abort", () => this.letGo(id)); // so it is called off where nothing else says so
    const onRequestStreamEnd = (): void => {
      const error = { code: 0, message: "The answer has ended before it was there.", data: LOST };
      this.onmessage?.({ jsonrpc: "2.0", id, error }); // of no account where it has come
    };
    try {
      await super.send(message, { ...options, onRequestStreamEnd, requestSignal: over.signal });
    } catch (error) {
      this.letGo(id);
      throw error;
    }
  }

  /** Nothing hangs on a word that wants no answer: servers that do not know it refuse it, and say to the next request what is wrong. */
  private async tell(message: Sent[0], options: Sent[1]): Promise<void> {
    try {
      await super.send(message, options);
    } catch (error) {
      if (!(error instanceof SdkHttpError)) throw error;
    } finally {
      this.letGo(givenUpIn(message));
    }
  }

  /** Nobody waits for more. A stream that ends by itself does so soon, and its connection serves again. */
  private letGo(id: unknown): void {
    const over = this.waiting.get(Number(id));
    if (over === undefined) return;
    this.waiting.delete(Number(id));
    setTimeout(() => over.abort(), MAX_FAREWELL_MS).unref();
  }

  /** Tells the server that its session is over: what it holds for it, a browser or a database, would stay. Nobody waits long for that. */
  override async close(): Promise<void> {
    await within(
      MAX_FAREWELL_MS,
      this.terminateSession().catch(() => undefined),
    );
    await super.close();
  }
}

const MAX_FAREWELL_MS = 1_000;

/** The request that nobody waits for any more, where a message says so. */
function givenUpIn(message: Sent[0]): unknown {
  return "method" in message && message.method === "notifications/cancelled"
    ? message.params?.["requestId"]
    : undefined;
}

/** The server was asked, and its answer has ended before it was there. */
export function isLost(error: unknown): boolean {
  return error instanceof Error && "data" in error && error.data === LOST;
}

/** Why a request was not taken up: the server says so, or was not reached. Undefined where it may have been. */
export function whyNotTaken(error: unknown): string | undefined {
  if (error instanceof SdkHttpError) {
    const { status } = error;
    if (status < 300 || status >= 500 || status === 408) return undefined;
    if (status < 400) return `answers with HTTP status ${status}, ${NOT_FOLLOWED(placeIn(error))}`;
    return answersWith(error);
  }
  const code = codeOfConnection(error) ?? "";
  return NEVER_CONNECTED.test(code) ? wordsOfConnection(code) : undefined;
}

/** The code of the system's or of TLS, where it is the connection that has failed. */
function codeOfConnection(error: unknown): string | undefined {
  const cause = error instanceof TypeError ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
}

/** Following one would hand the token to whoever it names. */
const NOT_FOLLOWED = (place: string): string =>
  `a redirect to ${place}. Redirects are not followed: set url to where it really answers`;

/** Where a redirect leads, of which the transport has kept nothing else; its parameters are nobody's business. */
function placeIn({ data }: SdkHttpError): string {
  const { text } = data;
  if (typeof text !== "string" || !URL.canParse(text)) return "nowhere";
  const { origin, pathname } = new URL(text);
  return excerpt(`${origin}${pathname}`, 300);
}

/** Of a server that lets nobody in: where the token stands that it has not taken, or would stand. */
export function aboutItsToken(error: unknown, server: McpServer): string {
  if (!(error instanceof SdkHttpError) || error.status !== 401 || !("url" in server)) return "";
  const variables = tokenVariables(server);
  return variables.length === 0
    ? "; the settings name no bearerVariable for it, and it may want a login (docs/mcp.md)"
    : `; it does not take the token in ${variables.join(", ")}`;
}

/** What a server may be that takes no message where it was asked to begin. */
export const OF_OLD_FORM =
  "it may speak the form of 2024 alone, over SSE, which is not spoken here: mcp-remote leads to it (docs/mcp.md)";

/** Whether a server has no place for messages at its address, as those of the protocol's first version, at `/sse`. */
export function mayBeOfOldForm(error: unknown, url: string): boolean {
  if (!(error instanceof SdkHttpError) || refusalIn(error).message !== undefined) return false;
  return error.status === 405 || (error.status === 404 && /\/sse\/?$/.test(new URL(url).pathname));
}

/** Of a request that may have been taken up, and was answered with a status of HTTP, or not at all. */
export function whyFailed(error: unknown): string | undefined {
  const code = codeOfConnection(error);
  if (code !== undefined) return wordsOfConnection(code);
  return error instanceof SdkHttpError && error.status >= 400 ? answersWith(error) : undefined;
}

/** A status, and what comes with it: an error of the protocol or in any other form, words, or the title of a proxy's page. */
function answersWith(error: SdkHttpError): string {
  const { status } = error;
  const { text } = error.data;
  const said = typeof text === "string" ? readErrorBody(text.slice(0, MAX_REFUSAL_CHARS)).words : "";
  const words = wordsUnder(status, said).trim().replace(/\.$/, "");
  return `answers with HTTP status ${status}${words === "" ? "" : `: ${excerpt(redactSecrets(words), 300)}`}`;
}

const refusalSchema = z.object({
  error: z.object({
    code: z.number().optional().catch(undefined),
    message: z.string().optional().catch(undefined),
  }),
});
const MAX_REFUSAL_CHARS = 64 * 1024;

/** The error of the protocol that comes with a status: none where that is a page, or words of a proxy. */
function refusalIn({ data }: SdkHttpError): z.infer<typeof refusalSchema>["error"] {
  const { text } = data;
  if (typeof text !== "string" || text.length > MAX_REFUSAL_CHARS) return {};
  return refusalSchema.safeParse(jsonIn(text)).data?.error ?? {};
}

/** The code of a server's error, which may come with a status. */
export function codeIn(error: unknown): unknown {
  if (error instanceof SdkHttpError) return refusalIn(error).code;
  return error instanceof Error && "code" in error ? error.code : undefined;
}

const NEVER_CONNECTED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E\w+UNREACH|ERR_PROXY_\w+|.*(?:CERT|SELF_SIGNED|UNABLE_TO_|DEPTH_).*)$/;
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** As `fetch`, whose answers may take no longer than five minutes to go on; these take as long as the call may. */
function boundedFetch(maxBytes: number): FetchLike {
  return async (url, init = {}) => {
    const told = new Headers(init.headers);
    const answer = await send(new URL(url), {
      method: init.method === "GET" || init.method === "DELETE" ? init.method : "POST",
      headers: Object.fromEntries(told),
      ...(typeof init.body === "string" ? { body: init.body } : {}),
      redirect: "manual",
      signal: init.signal ?? new AbortController().signal,
    });
    const { status, headers } = answer;
    const said = headers.get("content-type") ?? "";
    // The SDK knows one name for it; servers that are written by hand say others, or none.
    const isJson = answer.ok && (said === "" || /\bjson\b/i.test(said));
    const type = isJson ? "application/json" : said;
    const session = headers.get("mcp-session-id");
    // Not `www-authenticate`: the SDK would make an error of its own of it, that does not say that the call was refused.
    const kept = { "content-type": type, ...(session !== null && { "mcp-session-id": session }) };
    if (answer.body === null || WITHOUT_BODY.has(status))
      return new Response(null, { status, headers: kept });
    if (status >= 300 && status < 400) {
      answer.leave?.();
      return new Response(placeFrom(headers.get("location") ?? "", String(url)), { status, headers: kept });
    }
    const bytes = boundedChunks(answer.body, maxBytes, () => new TooLong("The answer is too long."));
    const isEvents = /^\s*text\/event-stream\b/i.test(type);
    const plain = isEvents
      ? plainEvents(bytes, told.get("last-event-id"))
      : isJson
        ? plainMessage(bytes)
        : bytes;
    const body = ReadableStream.from(tellingOfLength(plain, isEvents, init.body));
    return new Response(body, { status, headers: kept });
  };
}

/** What a redirect has for a body here, since the SDK keeps no headers of it. */
function placeFrom(location: string, from: string): string {
  return location !== "" && URL.canParse(location, from) ? new URL(location, from).href : "";
}

const encoder = new TextEncoder();

/** A message as the SDK takes it, or a list of them. */
async function* plainMessage(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const text = await textOfChunks(chunks);
  const messages = messagesIn(text) ?? [];
  const [first, ...others] = messages;
  const plain = others.length === 0 ? first : messages;
  yield encoder.encode(plain === undefined ? text : JSON.stringify(plain));
}

/**
 * Events, each message in one of its own as the SDK takes it. An answer is handed on as soon as it is there, also where no empty line is
 * behind it, and so is one that cannot be read: nobody waits for another. A stream that goes on behind an event begins with that event's
 * id: the SDK would not know where to go on once more, should it end before it has said anything.
 */
async function* plainEvents(
  chunks: AsyncIterable<Uint8Array>,
  lastId: string | null,
): AsyncGenerator<Uint8Array> {
  if (lastId !== null) yield encoder.encode(`id: ${lastId}\ndata:\n\n`);
  const lines = new EventLines();
  let held: string[] = []; // lines of an event that has not ended
  for await (const chunk of chunks) {
    for (const line of lines.endingIn(chunk)) {
      const hasEnded = line === "" || holdsAnswer(line);
      if (line !== "" && !line.startsWith(":")) held.push(line);
      if (!hasEnded) continue;
      yield plainEvent(held);
      held = [];
    }
  }
  yield plainEvent([...held, lines.unended()]);
}

const DATA = /^data: ?/;

/** Whether a line holds a whole answer, or several in a list. */
function holdsAnswer(line: string): boolean {
  if (!DATA.test(line) || !/[}\]]\s*$/.test(line.slice(-100))) return false;
  return /"(?:result|error)"\s*:/.test(line) && hasAnswer(messagesInJson(line.replace(DATA, "")));
}

function hasAnswer(messages: ReturnType<typeof messagesIn> = []): boolean {
  return messages.some((message) => !("method" in message));
}

/** What an event is called does not matter where it holds an answer. */
function plainEvent(lines: readonly string[]): Uint8Array {
  const data = lines.filter((line) => DATA.test(line)).map((line) => line.replace(DATA, ""));
  const messages = messagesIn(data.join("\n")) ?? [];
  if (messages.length === 0) return encoder.encode(`${lines.join("\n")}\n\n`);
  const others = lines.filter(
    (line) => !DATA.test(line) && !(hasAnswer(messages) && line.startsWith("event")),
  );
  const events = messages.map((message) => `data: ${JSON.stringify(message)}\n\n`);
  return encoder.encode(`${others.map((line) => `${line}\n`).join("")}${events.join("")}`);
}

class TooLong extends Error {}

/** What comes of an answer to a request; of one that is too long, an answer that says so in its place. */
async function* tellingOfLength(
  plain: AsyncIterable<Uint8Array>,
  isEvents: boolean,
  request: unknown,
): AsyncGenerator<Uint8Array> {
  try {
    yield* plain;
  } catch (error) {
    const id = typeof request === "string" ? fieldOf(jsonIn(request), "id") : undefined;
    if (!(error instanceof TooLong) || typeof id !== "number") throw error;
    const instead = JSON.stringify(unreadable(id, `it has ${TOO_LONG}`));
    yield encoder.encode(isEvents ? `\n\ndata: ${instead}\n\n` : instead);
  }
}
