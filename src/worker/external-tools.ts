import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Runtime } from "@temporalio/worker";
import { type McpServers, SERVERS_FOLDER } from "../mcp/server-settings.js";
import { type DefinedTool, toolsInCode } from "../tools/external/define-tool.js";
import { ExternalTools } from "../tools/external/external-tools.js";
import { version } from "./version.js";

/** The tools of a worker beside the engine's own; undefined where it has none. What speaks MCP is loaded where servers are named. */
export async function openExternalTools(
  storeDir: string,
  servers: McpServers,
  variable: (name: string) => string | undefined,
  tools: readonly DefinedTool[],
): Promise<ExternalTools | undefined> {
  const hasServers = Object.keys(servers).length > 0;
  if (!hasServers && tools.length === 0) return undefined;
  const note = (sentence: string): void => Runtime.instance().logger.warn(sentence);
  const inCode = tools.length === 0 ? [] : [toolsInCode(tools)];
  if (!hasServers) return new ExternalTools(inCode, note);
  const { mcpTools } = await import("../mcp/mcp-tools.js");
  const dir = join(storeDir, SERVERS_FOLDER);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const ofServers = mcpTools({ servers, dir, version: version(), variable, note });
  return new ExternalTools([...inCode, ofServers], note);
}
