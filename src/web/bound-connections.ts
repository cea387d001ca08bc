import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Connections at once, and how many of them may be without a request that is being answered. */
const MAX_CONNECTIONS = 200;
const MAX_QUIET = 100;
/** Requests of one connection that are answered at once: a browser sends the next one when it has its answer. */
const MAX_UNANSWERED = 20;
/** Who takes nothing of an answer for so long is gone; a stream says something more often. */
const SILENT_MS = 120_000;

/**
 * Bounds the descriptors that a server's connections take. Those that only wait, as with half a request or half its body, keep nobody out: the one that
 * has waited longest makes room, and who sends request after request without waiting for an answer is cut off.
 */
export function boundConnections(server: Server): void {
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = SILENT_MS;
  const quiet = new Set<Socket>();
  const unanswered = new WeakMap<Socket, number>();
  const rest = (socket: Socket): void => {
    quiet.add(socket);
    const [longest] = quiet;
    if (quiet.size <= MAX_QUIET || longest === undefined) return;
    quiet.delete(longest);
    longest.destroy();
  };
  server.on("connection", (socket: Socket) => {
    rest(socket);
    socket.once("close", () => quiet.delete(socket));
  });
  server.on("request", (request, response) => {
    const { socket, headers } = request;
    const before = unanswered.get(socket) ?? 0;
    unanswered.set(socket, before + 1);
    if (before >= MAX_UNANSWERED) socket.destroy();
    const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
    if (!hasBody) quiet.delete(socket);
    else request.once("end", () => !response.closed && quiet.delete(socket));
    response.once("close", () => {
      const left = (unanswered.get(socket) ?? 1) - 1;
      unanswered.set(socket, left);
      if (left === 0 && !socket.destroyed) rest(socket);
    });
  });
}
