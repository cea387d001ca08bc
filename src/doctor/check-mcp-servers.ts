import { join } from "node:path";
import { barredPort } from "../core/barred-port.js";
import { missingProgram } from "../mcp/find-program.js";
import { type McpServer, type McpServers, SERVERS_FOLDER, tokenProblem } from "../mcp/server-settings.js";
import { type Finding, failed, passed, warning } from "./finding.js";

/** What of a worker is looked at. */
interface Surroundings {
  readonly storeDir: string;
  readonly variable: (name: string) => string | undefined;
  readonly pathVariable: string;
}

/** What of the MCP servers can be seen without starting one or asking one. */
export function checkMcpServers(
  servers: McpServers,
  surroundings: Surroundings,
): Promise<readonly Finding[]> {
  return Promise.all(
    Object.entries(servers).map(([name, server]) => checkServer(name, server, surroundings)),
  );
}

async function checkServer(
  name: string,
  server: McpServer,
  { storeDir, variable, pathVariable }: Surroundings,
): Promise<Finding> {
  const place = `mcp server ${name}`;
  const key = `mcpServers.${name}`;
  const isMissing = (named: string): boolean => variable(named) === undefined;
  if ("url" in server) {
    const barred = barredPort(new URL(server.url));
    if (barred !== undefined) return failed(place, `its URL ${barred}`, `Correct ${key}.url.`);
    const problem = tokenProblem(server, variable);
    if (problem === undefined) return passed(place, server.url);
    const remedy = `Set it where the worker runs, or correct what ${key} names.`;
    return failed(place, `wants a token, and ${problem}`, remedy);
  }
  const missing = await missingProgram(server, { dir: join(storeDir, SERVERS_FOLDER), path: pathVariable });
  if (missing !== undefined) {
    return failed(place, missing, `Install it where the worker runs, or correct ${key}.`);
  }
  const absent = server.envVariables.filter(isMissing);
  if (absent.length === 0) return passed(place, `${server.command} can be started`);
  const found = `${server.command} can be started; not set: ${absent.join(", ")}`;
  return warning(place, found, `Set them where the worker runs, or take them out of ${key}.envVariables.`);
}
