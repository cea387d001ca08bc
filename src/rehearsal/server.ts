import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { jsonIn } from "../core/json.js";
import { bodyWithin } from "../web/request-body.js";
import { completionBody, completionEvents, estimateUsage } from "./completion.js";
import { decide } from "./decide.js";
import { type EarlierRun, type Memory, newMemory } from "./memory.js";
import { type ChatRequest, REHEARSAL_MODEL, type Turn, chatRequestSchema } from "./wire.js";

const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export interface RehearsalOptions {
  /** The port to listen on; a free one unless set. */
  readonly port?: number;
  /** Successive runs of a package begin with successive branches, so that repeated runs cover every edge. */
  readonly branches?: boolean;
  /** With `branches`: what runs before this server's time decided, so that this one begins where they ended. */
  readonly earlierRuns?: readonly EarlierRun[];
  /** Try one forbidden jump in the life of this server, for a viewer to see the guard refuse it. */
  readonly forbiddenJump?: boolean;
  /** Sees each chat request that was understood, as it came, and the answer to it. */
  readonly onRequest?: (seen: RehearsalRequest) => void;
}

interface RehearsalRequest {
  /** Counts the server's chat requests from 1. */
  readonly number: number;
  /** The body as it came. */
  readonly body: string;
  readonly answer: Turn;
}

/** What one rehearsal of several at a port may differ in. */
type RehearsalOfRun = Omit<RehearsalOptions, "port">;

/** A running rehearsal: a stand-in for a model behind an OpenAI-compatible interface. */
export interface RehearsalModel {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** How many chat requests have been answered. */
  readonly requests: number;
  /**
   * Another rehearsal with a memory of its own, at the same port: `http://127.0.0.1:PORT/KEY/v1`. It ends with the others,
   * or with `forget`.
   */
  rehearse(options: RehearsalOfRun): { readonly baseUrl: string; forget(): void };
  /** Stops listening and ends open connections at once. May be called more than once. */
  close(): Promise<void>;
}

/** Starts the rehearsal on the loopback interface only. */
export async function startRehearsalModel(options: RehearsalOptions = {}): Promise<RehearsalModel> {
  const rehearsal = new Rehearsal(options);
  const others = new Map<string, Rehearsal>();
  const server = createServer((request, response) => {
    const [, key, path = request.url ?? ""] = /^\/([0-9a-f]{32})(\/.*)$/.exec(request.url ?? "") ?? [];
    void serve(key === undefined ? rehearsal : others.get(key), path, request, response);
  });
  server.on("clientError", (_error, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    else socket.destroy();
  });
  server.listen(options.port ?? 0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server that listens has such an address
  return {
    baseUrl: `http://${HOST}:${port}/v1`,
    get requests() {
      return rehearsal.requests;
    },
    rehearse(run) {
      const key = randomBytes(16).toString("hex");
      others.set(key, new Rehearsal(run));
      return { baseUrl: `http://${HOST}:${port}/${key}/v1`, forget: () => void others.delete(key) };
    },
    close: () => closeServer(server),
  };
}

/** Owns what changes: the memory of `decide` and the counters. Its calls do not overlap: `answer` is synchronous. */
class Rehearsal {
  requests = 0;
  private memory: Memory;
  private calls = 0;
  private readonly onRequest: RehearsalOptions["onRequest"];
  /** Sets this server's ids apart from those of an earlier one that served the same run. */
  private readonly tag = randomBytes(4).toString("hex");

  constructor(options: RehearsalOptions) {
    this.memory = newMemory(options);
    this.onRequest = options.onRequest;
  }

  answer(request: ChatRequest, body: string): { id: string; turn: Turn; callIds: string[] } {
    const { turn, memory } = decide(request, this.memory);
    this.memory = memory;
    this.requests += 1;
    const callIds = turn.calls.map(() => {
      this.calls += 1;
      return `call_${this.tag}_${this.calls}`;
    });
    this.onRequest?.({ number: this.requests, body, answer: turn });
    return { id: `chatcmpl-${this.tag}-${this.requests}`, turn, callIds };
  }
}

async function serve(
  rehearsal: Rehearsal | undefined,
  url: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await route(rehearsal, url, request, response);
  } catch (error) {
    // A client that went away is nobody to answer.
    if (response.destroyed || response.headersSent) return void response.destroy();
    const known = error instanceof HttpError;
    const { status, code, message } = known ? error : new HttpError(500, "internal_error", String(error));
    if (status === 413) response.setHeader("Connection", "close");
    send(response, status, {
      error: { message, type: known ? "invalid_request_error" : "server_error", param: null, code },
    });
    request.resume();
  }
}

async function route(
  rehearsal: Rehearsal | undefined,
  url: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (rehearsal === undefined) throw new HttpError(404, "unknown_url", "No such rehearsal is under way.");
  const [path] = url.split("?");
  if (path === "/v1/chat/completions") {
    requireMethod(request, response, "POST");
    return complete(rehearsal, await readBody(request), response);
  }
  if (path === "/v1/models") {
    requireMethod(request, response, "GET");
    const model = { id: REHEARSAL_MODEL, object: "model", created: 0, owned_by: "interlock" };
    return send(response, 200, { object: "list", data: [model] });
  }
  throw new HttpError(
    404,
    "unknown_url",
    "The rehearsal serves POST /v1/chat/completions and GET /v1/models, nothing else.",
  );
}

function complete(rehearsal: Rehearsal, body: string, response: ServerResponse): void {
  const request = parseRequest(body);
  const answer = rehearsal.answer(request, body);
  const completion = {
    ...answer,
    created: Math.floor(Date.now() / 1000),
    usage: estimateUsage(body, answer.turn),
  };
  if (request.stream !== true) return send(response, 200, completionBody(completion));
  response.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
  });
  for (const event of completionEvents(completion, request.stream_options?.include_usage === true)) {
    response.write(event);
  }
  response.end();
}

function parseRequest(body: string): ChatRequest {
  const value = jsonIn(body);
  if (value === undefined) throw new HttpError(400, "invalid_json", "The body is not valid JSON.");
  const parsed = chatRequestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join(".") ?? "";
  throw new HttpError(
    400,
    "invalid_request",
    `This is no chat completion request. ${where === "" ? "" : `${where}: `}${issue?.message ?? ""}`,
  );
}

async function readBody(request: IncomingMessage): Promise<string> {
  const tooLarge = new HttpError(413, "body_too_large", `A body may have ${MAX_BODY_BYTES} bytes at most.`);
  return (await bodyWithin(request, MAX_BODY_BYTES, tooLarge)).toString("utf8");
}

function requireMethod(request: IncomingMessage, response: ServerResponse, method: string): void {
  if (request.method === method) return;
  response.setHeader("Allow", method);
  throw new HttpError(405, "method_not_allowed", `This address takes ${method} only.`);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
}

class HttpError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
