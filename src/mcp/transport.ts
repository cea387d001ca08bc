import type { Readable } from "node:stream";
import { StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type HttpServer, type McpServer, PROJECT, type StdioServer } from "./server-settings.js";

/** A message, or the body of an HTTP answer, may have so many bytes: beyond, the connection is closed. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const MAX_STDERR_CHARS = 2_000;

/** What a server is started or reached with. */
export interface Surroundings {
  /** Where a server works that names no directory. */
  readonly dir: string;
  /** Of a server that works in the run's project. */
  readonly projectRoot: string;
  readonly variable: (name: string) => string | undefined;
}

/** A way to a server, and what its process has said last on its error output. */
export interface Way {
  readonly transport: Transport;
  readonly lastWords: () => string;
}

export function wayTo(server: McpServer, surroundings: Surroundings): Way {
  return "command" in server ? processOf(server, surroundings) : requestsTo(server, surroundings);
}

/** The process has the variables that the settings name, and those without which no program runs: PATH, HOME and the like. */
function processOf(server: StdioServer, { dir, projectRoot, variable }: Surroundings): Way {
  const given = server.envVariables.flatMap((name) => {
    const value = variable(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const { cwd = dir } = server;
  const transport = new StdioClientTransport({
    command: server.command,
    args: server.args.map((arg) => (arg === PROJECT ? projectRoot : arg)),
    cwd: cwd === PROJECT ? projectRoot : cwd,
    env: { ...server.env, ...Object.fromEntries(given) },
    stderr: "pipe",
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
  let lastWords = "";
  const stderr = transport.stderr as Readable | null; // a stream, where it was asked for
  stderr?.on("data", (chunk: Buffer) => {
    lastWords = (lastWords + chunk.subarray(-MAX_STDERR_CHARS).toString("utf8")).slice(-MAX_STDERR_CHARS);
  });
  return { transport, lastWords: () => lastWords };
}

function requestsTo(server: HttpServer, { variable }: Surroundings): Way {
  const token = server.bearerVariable === undefined ? undefined : variable(server.bearerVariable);
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: {
      redirect: "error",
      ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }),
    },
    fetch: boundedFetch,
  });
  return { transport, lastWords: () => "" };
}

async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_MESSAGE_BYTES) controller.error(new Error("The answer is too long."));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
}
