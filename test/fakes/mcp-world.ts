import { fileURLToPath } from "node:url";
import { agent } from "./package-fixture.js";

/** A server for `command`, whose first argument is how it behaves. */
export const FAKE_MCP_SERVER = fileURLToPath(new URL("./mcp-server.mjs", import.meta.url));

/** The agents of the two-node package with the MCP servers that their policies allow. */
export function agentsWith(allowed: Readonly<Record<string, readonly string[]>>): string {
  const agents = ["author", "closer"].map((id) => {
    const allowedServers = allowed[id];
    return {
      ...agent(id),
      ...(allowedServers === undefined ? {} : { tools: { mcp: { enabled: true, allowedServers } } }),
    };
  });
  return JSON.stringify({ schemaVersion: "1.1", agents });
}
