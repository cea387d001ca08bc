import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { FAKE_MCP_SERVER } from "../fakes/mcp-world.js";
import type { ReceivedNotice } from "./evidence.js";
import { FAR_AGENT } from "./plan.js";
import { SHORT_CONTEXT_TOKENS } from "./script.js";

/** What runs reach beside their model: a receiver of notices, and a server of tools that notes each call. */
export interface Surroundings {
  /** What the store's settings say of them, and of the agent whose model has a short context. */
  readonly settings: object;
  /** In the order in which they came. */
  readonly notices: readonly ReceivedNotice[];
  /** The calls of tools from outside, as their servers noted them, by what the calls are known by. */
  ledger(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/** The name of the webhook; what is sent to it is known by an id that ends with it. */
export const WEBHOOK = "ops";

export async function openSurroundings(dir: string): Promise<Surroundings> {
  const ledgerFile = join(dir, "ledger");
  const notices: ReceivedNotice[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      notices.push({ id: String(request.headers["webhook-id"]), body });
      response.writeHead(204).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  return {
    settings: {
      agents: { [FAR_AGENT]: { contextTokens: SHORT_CONTEXT_TOKENS } },
      mcpServers: { outside: { command: process.execPath, args: [FAKE_MCP_SERVER, "plain", ledgerFile] } },
      notifications: { webhooks: { [WEBHOOK]: { url, format: "slack", events: ["question", "completed"] } } },
    },
    notices,
    ledger() {
      const calls: Record<string, number> = {};
      const text = existsSync(ledgerFile) ? readFileSync(ledgerFile, "utf8") : "";
      for (const [, token = ""] of text.matchAll(/^called \S+ (\S+)$/gm))
        calls[token] = (calls[token] ?? 0) + 1;
      return calls;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function writeSettings(storeDir: string, { settings }: Surroundings): void {
  writeFileSync(join(storeDir, "settings.json"), JSON.stringify(settings));
}
