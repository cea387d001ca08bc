import type { Readable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { codeFile } from "../package-place.js";
import { requestsTo } from "./http-way.js";
import { MAX_MESSAGE_BYTES, MessageLines } from "./message-lines.js";
import { PROJECT, withProject } from "./project-paths.js";
import type { McpServer, StdioServer } from "./server-settings.js";

const MAX_STDERR_CHARS = 2_000;
/** Ends a server with all that it has started, also when the worker was killed: see there. */
const KEEPER = codeFile("mcp/keep-server.cjs");

/** What a server is started or reached with. */
export interface Surroundings {
  /** Where a server works that names no directory. */
  readonly dir: string;
  /** Of a server that works in the run's project. */
  readonly projectRoot: string;
  readonly variable: (name: string) => string | undefined;
}

/** A way to a server, and what its process has said last beside its messages. */
export interface Way {
  readonly transport: Transport;
  readonly lastWords: () => string;
  /** It has written to its output what is no message. */
  readonly strays: () => boolean;
  /** It has written more at once than is read. */
  readonly isTooLong: () => boolean;
}

export function wayTo(server: McpServer, surroundings: Surroundings): Way {
  if ("command" in server) return processOf(server, surroundings);
  const { bearerVariable, headerVariables } = server;
  const valueOf = (name: string): string => surroundings.variable(name) ?? "";
  const headers = {
    ...(bearerVariable === undefined ? {} : { Authorization: `Bearer ${valueOf(bearerVariable)}` }),
    ...Object.fromEntries(Object.entries(headerVariables).map(([header, name]) => [header, valueOf(name)])),
  };
  return {
    transport: requestsTo(server.url, headers, MAX_MESSAGE_BYTES),
    lastWords: () => "",
    strays: () => false,
    isTooLong: () => false, // an answer of HTTP says so itself
  };
}

/** The process has the variables that the settings name, and those without which no program runs: PATH, HOME and the like. */
function processOf(server: StdioServer, { dir, projectRoot, variable }: Surroundings): Way {
  const given = server.envVariables.flatMap((name) => {
    const value = variable(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const { cwd = dir } = server;
  const args = server.args.map((arg) => withProject(arg, projectRoot));
  const set = Object.entries(server.env).map(
    ([name, value]) => [name, withProject(value, projectRoot)] as const,
  );
  const lines = new MessageLines(MAX_MESSAGE_BYTES);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [KEEPER, String(process.pid), server.command, ...args],
    cwd: cwd === PROJECT ? projectRoot : cwd,
    env: keptEnvironment(Object.fromEntries([...set, ...given])),
    stderr: "pipe",
  });
  Object.assign(transport, { _readBuffer: lines }); // the SDK has no door for it
  let lastWords = "";
  const stderr = transport.stderr as Readable | null; // a stream, where it was asked for
  stderr?.on("data", (chunk: Buffer) => {
    lastWords = (lastWords + chunk.subarray(-MAX_STDERR_CHARS).toString("utf8")).slice(-MAX_STDERR_CHARS);
  });
  return {
    transport,
    lastWords: () => [lastWords, lines.lastStray].filter((words) => words !== "").join(" "),
    strays: () => lines.lastStray !== "",
    isTooLong: () => lines.isTooLong,
  };
}

/** What Node goes by, such as `NODE_OPTIONS`, is not meant for the process between: it hands it on, without what stands before it here. */
function keptEnvironment(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      /^(?:NODE|KEPT)_/.test(name) ? `KEPT_${name}` : name,
      value,
    ]),
  );
}
