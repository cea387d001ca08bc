import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Connections at once, and how many of them may be without a request that is being answered. */
const MAX_CONNECTIONS = 200;
const MAX_QUIET = 100;
/** Who takes nothing of an answer for so long is gone; a stream says something more often. */
const SILENT_MS = 120_000;

/**
 * Bounds the descriptors that a server's connections take. Those that only wait, as with half a request or half its body, keep nobody out: the one that
 * has waited longest makes room.
 */
export function boundConnections(server: Server): void {
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = SILENT_MS;
  const quiet = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    quiet.add(socket);
    socket.once("close", () => quiet.delete(socket));
    const [longest] = quiet;
    if (quiet.size > MAX_QUIET) longest?.destroy();
  });
  server.on("request", (request, response) => {
    const { socket, headers } = request;
    const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
    if (!hasBody) quiet.delete(socket);
    else request.once("end", () => !response.closed && quiet.delete(socket));
    response.once("close", () => {
      if (!socket.destroyed) quiet.add(socket);
    });
  });
}
