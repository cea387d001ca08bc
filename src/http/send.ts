import {
  Agent,
  type AgentOptions,
  type IncomingMessage,
  globalAgent,
  request as requestPlain,
} from "node:http";
import { Agent as TlsAgent, globalAgent as tlsAgent, request as requestTls } from "node:https";
import { type Readable, type Transform, pipeline } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { barredPort } from "../core/barred-port.js";

/** One request, as it goes out. */
export interface SentRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Redirects are answers like others: nobody follows them. */
  readonly redirect: "manual";
  readonly signal: AbortSignal;
  /** It goes out again where its server has closed the connection that was kept from the request before. */
  readonly mayGoAgain?: true;
}

/** What came back, its body as it arrives, decompressed. A `Response` is one. */
export interface WireAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
  /** Ends the connection: nobody waits for more. */
  leave?(): void;
}

/** What requests go out with: `fetch` is one, and `send` rejects as it does. */
export type Send = (url: URL, request: SentRequest) => Promise<WireAnswer>;

/** Servers close a connection that nobody uses, many after five seconds: a request on its way meanwhile would be lost. */
const IDLE_MS = 4_000;

// One for the process, so that a connection serves many requests. What Node was told of proxies is with its own agents.
const { options } = globalAgent as Agent & { readonly options: AgentOptions }; // Node's types have it of the other one only
const plain = new Agent({ ...options, keepAlive: true, timeout: IDLE_MS });
const tls = new TlsAgent({ ...tlsAgent.options, keepAlive: true, timeout: IDLE_MS });

/** As `fetch`, with half of its CPU: each turn of each run is a request. */
export const send: Send = async (url, request) => {
  for (;;) {
    try {
      return await sendOnce(url, request);
    } catch (error) {
      if (!(error instanceof ClosedBefore) || request.mayGoAgain !== true) throw error;
    }
  }
};

/** The server has closed a kept connection before the request has arrived there: no new one is closed so. */
class ClosedBefore extends TypeError {}

/** So soon it is known at the latest: whoever closes later has read the request. */
const CLOSED_BEFORE_MS = 1_000;

const sendOnce: Send = (url, { method, headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const broken = (cause: Error): void => reject(asFetchThrows("fetch failed", withItsPlace(cause, url)));
    signal.throwIfAborted();
    const barred = barredPort(url);
    if (barred !== undefined) {
      broken(new Error(`its URL ${barred}`));
      return;
    }
    const asked = { method, headers: { ...ALWAYS, ...headers } };
    const request =
      url.protocol === "https:"
        ? requestTls(url, { ...asked, agent: tls })
        : requestPlain(url, { ...asked, agent: plain });
    const stop = (): void => {
      reject(signal.reason as Error); // an AbortError
      request.destroy();
    };
    signal.addEventListener("abort", stop, { once: true });
    request.once("close", () => {
      signal.removeEventListener("abort", stop);
      broken(Object.assign(new Error("closed without an answer"), { code: "ECONNRESET" })); // nothing, where one has come
    });
    const sentAt = performance.now();
    request.on("error", (cause) => {
      const code = "code" in cause ? cause.code : undefined;
      const isSoon = request.reusedSocket && performance.now() - sentAt < CLOSED_BEFORE_MS;
      if (isSoon && (code === "ECONNRESET" || code === "EPIPE"))
        reject(new ClosedBefore("fetch failed", { cause }));
      else broken(cause);
    });
    request.once("response", (message) => resolve(toAnswer(message)));
    request.end(body);
  });

/** What a connection has failed with that was to go elsewhere than the URL says: to the proxy that Node was told of by the environment. */
function withItsPlace(cause: Error, url: URL): Error {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  if (!(first instanceof Error)) return cause;
  const { code = "", hostname, port }: Error & { code?: string; hostname?: string; port?: number } = first;
  const ownPort = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const isElsewhere =
    (hostname !== undefined && hostname !== url.hostname) || (port !== undefined && port !== ownPort);
  return isElsewhere
    ? Object.assign(new Error(cause.message, { cause }), { code: `ERR_PROXY_${code}` })
    : cause;
}

/** Some gateways let nobody in who does not say who they are. */
// No deflate: servers do not agree on what that is.
const ALWAYS = { "accept-encoding": "gzip", "user-agent": "node" };

function toAnswer(message: IncomingMessage): WireAnswer {
  const { statusCode: status = 0, headers } = message;
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: {
      get(name) {
        const value = headers[name];
        return value === undefined ? null : String(value);
      },
    },
    body: bytesOf(message),
    leave: () => void message.destroy(),
  };
}

async function* bytesOf(message: IncomingMessage): AsyncGenerator<Uint8Array> {
  const body = decompressed(message);
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      yield chunk;
    }
  } catch (error) {
    throw asFetchThrows("terminated", error);
  } finally {
    if (body === message) letGo(message);
    else body.destroy(); // the message with it
  }
}

const SOON_MS = 1_000;
const LITTLE_BYTES = 64 * 1024;

/** Nobody reads on. Where the end comes soon, and little before it, the connection serves again; else it is closed. */
function letGo(message: IncomingMessage): void {
  if (message.readableEnded || message.destroyed) return;
  const timer = setTimeout(() => message.destroy(), SOON_MS).unref();
  let bytes = 0;
  message.on("data", (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > LITTLE_BYTES) message.destroy();
  });
  message.on("error", () => undefined);
  message.once("close", () => clearTimeout(timer));
}

function decompressed(message: IncomingMessage): Readable {
  const encoding = message.headers["content-encoding"]?.toLowerCase().trim() ?? "";
  const unpack = UNPACKED.get(encoding);
  if (unpack !== undefined) return pipeline(message, unpack(), () => undefined);
  if (/\b(?:zstd|dcz|dcb|compress|gzip|deflate|br)\b/.test(encoding)) {
    message.destroy(new Error(`it is in an encoding that was not asked for: ${encoding}`));
  }
  return message;
}

/** Gzip is asked for, and gateways send others all the same. What packs nothing, such as `utf-8`, is no encoding. */
const UNPACKED: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

function asFetchThrows(message: string, cause: unknown): TypeError {
  return new TypeError(message, { cause });
}
