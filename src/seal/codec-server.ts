import { createHash, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { Payload, PayloadCodec } from "@temporalio/common";
import { z } from "zod";
import { jsonIn } from "../core/json.js";
import { onlyOne } from "../web/foreign-requests.js";
import { listening } from "../web/listening.js";
import { SealError } from "./seal-error.js";

/** How a codec server serves. */
export interface CodecServerOptions {
  /** What opens and seals. */
  readonly codec: PayloadCodec;
  /** Where it listens; pages and commands come by 127.0.0.1, wherever that is. */
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
  /** Whoever does not know it is told nothing: the path begins with it, or it is the bearer's. */
  readonly token: string;
  /** Where pages may ask from, as browsers say it: `https://temporal.example.com`. */
  readonly origins: readonly string[];
}

export interface CodecServer {
  /** Without the token. */
  readonly address: string;
  close(): Promise<void>;
}

const MAX_BYTES = 16 * 1024 * 1024;
const ALLOWED_HEADERS = "content-type, x-namespace, authorization";

const base64 = z.base64();
const payloadsSchema = z.union([
  z.object({
    payloads: z
      .array(z.object({ metadata: z.record(z.string(), base64).nullish(), data: base64.nullish() }))
      .max(10_000),
  }),
  // As protobuf's JSON has it, an empty list is none: a query without an argument, a cancellation without details.
  z.strictObject({}).transform(() => ({ payloads: [] })),
]);

/** Temporal's codec protocol over HTTP on this machine: `POST /decode` and `/encode` for its Web UI and its command line. */
export async function startCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      const refusal = error instanceof Refused ? error : new Refused(500, "The codec server has failed.");
      say(response, refusal.status, { message: refusal.message });
      request.resume();
    });
  });
  server.requestTimeout = 30_000;
  const { port, close } = await listening(server, { host: options.host, port: options.port });
  return { address: `http://127.0.0.1:${port}`, close };
}

/** A request that is not answered: status and reason. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function answer(
  { codec, token, origins }: CodecServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("X-Content-Type-Options", "nosniff");
  // A name that was bound to this machine by somebody else's page is none of its own.
  if (!isOwnHost(request))
    throw new Refused(421, "This codec server answers to 127.0.0.1, [::1] and localhost with its port only.");
  const { origin } = request.headers;
  if (origin !== undefined) {
    if (!origins.includes(origin))
      throw new Refused(403, `Pages of ${origin} may not ask. Name it with --origin.`);
    response.setHeader("Access-Control-Allow-Origin", origin);
    response.setHeader("Access-Control-Allow-Credentials", "true");
    response.setHeader("Vary", "Origin");
  }
  const [path = ""] = (request.url ?? "").split("?", 1); // as it was sent: nothing in it is decoded or resolved
  if (request.method === "OPTIONS" && origin !== undefined) {
    response.setHeader("Access-Control-Allow-Methods", "POST");
    response.setHeader("Access-Control-Allow-Headers", ALLOWED_HEADERS);
    // A browser asks so before a page of elsewhere reaches this machine.
    if (request.headers["access-control-request-private-network"] === "true") {
      response.setHeader("Access-Control-Allow-Private-Network", "true");
    }
    response.writeHead(204).end();
    return;
  }
  const parts = path.split("/").filter((part) => part !== "");
  const action = parts.pop();
  const bearer = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (!isSame(parts.join("/") || (bearer ?? ""), token)) {
    throw new Refused(
      401,
      "The token is missing or another one: see what interlock codec-server has printed.",
    );
  }
  if (request.method !== "POST" || (action !== "decode" && action !== "encode")) {
    throw new Refused(404, "A codec server takes POST /decode and POST /encode.");
  }
  const payloads = payloadsIn(await bodyOf(request));
  try {
    say(response, 200, { payloads: (await codec[action](payloads)).map(toJson) });
  } catch (error) {
    throw error instanceof SealError ? new Refused(400, error.message) : error;
  }
}

function isOwnHost({ headersDistinct: headers, socket }: IncomingMessage): boolean {
  const host = onlyOne(headers["host"]) ?? "";
  const name = host.replace(/:\d+$/, "");
  const port = /:(\d+)$/.exec(host)?.[1] ?? "80";
  return (
    ["127.0.0.1", "[::1]", "localhost"].includes(name.toLowerCase()) && Number(port) === socket.localPort
  );
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [given, token].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const piece = Buffer.from(chunk as Buffer); // without an encoding, a request gives bytes
    bytes += piece.length;
    if (bytes <= MAX_BYTES) chunks.push(piece); // whoever sends more reads the answer only after the last byte
  }
  if (bytes > MAX_BYTES) throw new Refused(413, `More than ${MAX_BYTES} bytes at once. Send fewer payloads.`);
  return Buffer.concat(chunks).toString("utf8");
}

function payloadsIn(body: string): Payload[] {
  const value = jsonIn(body);
  if (value === undefined) throw new Refused(400, "The body is not JSON.");
  const parsed = payloadsSchema.safeParse(value);
  if (!parsed.success)
    throw new Refused(400, "The body is not { payloads: [{ metadata, data }] } in base64.");
  return parsed.data.payloads.map(({ metadata, data }) => ({
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, text]) => [name, bytesOf(text)])),
    data: bytesOf(data ?? ""),
  }));
}

function toJson({ metadata, data }: Payload) {
  const texts = Object.entries(metadata ?? {}).map(([name, bytes]) => [name, textOf(bytes)]);
  return { metadata: Object.fromEntries(texts) as Record<string, string>, data: textOf(data) };
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString("base64");
}

function say(response: ServerResponse, status: number, value: object): void {
  if (response.headersSent) return;
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}
