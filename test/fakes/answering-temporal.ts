import { type Http2Session, createServer } from "node:http2";
import { onTestFinished } from "vitest";
import { listen } from "./listen.js";

/** How a request ends: a status of gRPC with its words, or a message as it is encoded. */
export type GrpcAnswer = { readonly code: number; readonly details: string } | { readonly message: Buffer };

const NOTHING: GrpcAnswer = { message: Buffer.alloc(0) };

/** What is at an address and speaks as Temporal does, as far as the test says: by method, and to all else the same. */
export async function answeringTemporal(
  answers: Readonly<Record<string, GrpcAnswer>>,
  otherwise = NOTHING,
): Promise<string> {
  const sessions = new Set<Http2Session>();
  const server = createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    const method = headers[":path"]?.split("/").at(-1) ?? "";
    const answer = answers[method] ?? otherwise;
    const answered = { ":status": 200, "content-type": "application/grpc" };
    if ("code" in answer) {
      const status = {
        "grpc-status": String(answer.code),
        "grpc-message": encodeURIComponent(answer.details),
      };
      stream.respond({ ...answered, ...status }, { endStream: true });
      return;
    }
    stream.respond(answered, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(answer.message.length, 1);
    stream.end(Buffer.concat([head, answer.message]));
  });
  const port = await listen(server);
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
  });
  return `127.0.0.1:${port}`;
}
