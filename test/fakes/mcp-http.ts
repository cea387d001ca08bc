import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { onTestFinished } from "vitest";
import { mcpTools } from "../../src/mcp/mcp-tools.js";
import { mcpServersSchema } from "../../src/mcp/server-settings.js";

export interface Asked {
  readonly id: number | undefined;
  readonly method: string;
  readonly session: string;
  /** Of the protocol, as its header says it. */
  readonly version: string;
  readonly authorization: string;
}

/** Answers a request of the protocol, or returns false for the answer that a good server gives. */
export type Manner = (asked: Asked, response: ServerResponse) => boolean;

/** What results have since the protocol's version of 2026-07-28; versions before pass it over. */
const LATER = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

/** A server over streamable HTTP that behaves well but for its manner. */
export async function serverOf(
  manner: Manner,
  onEnd = (response: ServerResponse): unknown => response.end(),
  /** Of a stream that is asked for, or asked for again. */
  onStream = (response: ServerResponse, _asked: IncomingMessage): unknown => response.writeHead(405).end(),
) {
  const asked: Asked[] = [];
  /** The sessions that it was told are over. */
  const ended: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method === "DELETE") {
        ended.push(String(request.headers["mcp-session-id"]));
        return onEnd(response);
      }
      if (request.method !== "POST") return onStream(response, request);
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
        id?: number;
        method: string;
        params?: { protocolVersion?: string };
      };
      const { id, method, params } = body;
      const { authorization = "" } = request.headers;
      const session = String(request.headers["mcp-session-id"]);
      const version = String(request.headers["mcp-protocol-version"]);
      const heard = { id, method, session, version, authorization };
      asked.push(heard);
      if (manner(heard, response)) return undefined;
      if (id === undefined) return response.writeHead(202).end();
      const results: Readonly<Record<string, object>> = {
        initialize: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "fake", version: "1" },
        },
        "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
        "tools/list": { tools: [{ name: "act", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: "done" }] },
      };
      const headers = { "content-type": "application/json", "mcp-session-id": `s${asked.length}` };
      return response
        .writeHead(200, method === "initialize" ? headers : { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result: { ...results[method], ...LATER } }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(end);
  const { port } = server.address() as AddressInfo; // it listens
  return { url: `http://127.0.0.1:${port}/mcp`, asked, ended, end };
}

/** The tools of a server of this URL, and a call of its first one. */
export function open(
  url: string,
  variables: Readonly<Record<string, string>> = { T: "secret-token" },
  token: object = { bearerVariable: "T" },
) {
  const notes: string[] = [];
  const source = mcpTools({
    servers: mcpServersSchema.parse({ s: { url, ...token } }),
    dir: tmpdir(),
    version: "0",
    variable: (name) => variables[name],
    note: (sentence) => notes.push(sentence),
  });
  onTestFinished(() => source.close());
  const projectRoot = tmpdir();
  async function call(signal = new AbortController().signal, args = {}) {
    const [tool] = await source.tools({ agentId: "a", allowedServers: ["s"], projectRoot });
    if (tool === undefined) throw new Error("The server has no tool.");
    return tool.run(args, { runId: "r", nodeId: "n", agentId: "a", callId: "c", projectRoot, signal });
  }
  return { call, notes, close: () => source.close() };
}
