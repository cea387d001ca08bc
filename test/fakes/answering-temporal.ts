import {
  type ClientHttp2Session,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  connect,
  constants,
  createServer,
} from "node:http2";
import { onTestFinished } from "vitest";
import { listen } from "./listen.js";

/**
 * How a request ends: a status of gRPC with its words, a message as it is encoded, a proxy's page, by a reset of its stream, with its
 * connection, or not at all.
 */
export type GrpcAnswer =
  | { readonly code: number; readonly details: string }
  | { readonly message: Buffer }
  | { readonly page: number }
  | "reset"
  | "cut"
  | "silence";

/** What it says when it is asked. */
type Later = () => Promise<GrpcAnswer>;

const NOTHING: GrpcAnswer = { message: Buffer.alloc(0) };

/**
 * What is at an address and speaks as Temporal does, as far as the test says: by method, and to all else the same. `behind`: the real one,
 * which answers all else.
 */
export async function answeringTemporal(
  answers: Readonly<Record<string, GrpcAnswer | Later>>,
  otherwise: GrpcAnswer = NOTHING,
  behind?: string,
): Promise<string> {
  const sessions = new Set<Http2Session>();
  const server = createServer();
  server.on("session", (session) => sessions.add(session));
  const onward = behind === undefined ? undefined : connect(`http://${behind}`);
  if (onward !== undefined) sessions.add(onward);
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    const method = headers[":path"]?.split("/").at(-1) ?? "";
    if (onward !== undefined && answers[method] === undefined) return handOn(stream, headers, onward);
    const answer = answers[method] ?? otherwise;
    if (typeof answer === "function") return void answer().then((said) => end(stream, said));
    return end(stream, answer);
  });
  const port = await listen(server);
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
  });
  return `127.0.0.1:${port}`;
}

/** Ends a request so. */
function end(stream: ServerHttp2Stream, answer: GrpcAnswer): unknown {
  if (answer === "silence") return undefined;
  if (answer === "reset") return stream.close(constants.NGHTTP2_CANCEL);
  if (answer === "cut") return stream.session?.destroy();
  if ("page" in answer) {
    stream.respond({ ":status": answer.page, "content-type": "text/html" });
    return stream.end("<html>No.</html>");
  }
  const answered = { ":status": 200, "content-type": "application/grpc" };
  if ("code" in answer) {
    const status = {
      "grpc-status": String(answer.code),
      "grpc-message": encodeURIComponent(answer.details),
    };
    return stream.respond({ ...answered, ...status }, { endStream: true });
  }
  stream.respond(answered, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(answer.message.length, 1);
  return stream.end(Buffer.concat([head, answer.message]));
}

function handOn(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, onward: ClientHttp2Session): void {
  const request = onward.request(headers);
  let trailers: IncomingHttpHeaders = {};
  stream.pipe(request);
  stream.once("close", () => request.close(constants.NGHTTP2_CANCEL));
  request.on("error", () => stream.close(constants.NGHTTP2_CANCEL));
  request.once("trailers", (said) => (trailers = said));
  request.once("response", (answered, flags) => {
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0)
      return stream.respond(answered, { endStream: true });
    stream.respond(answered, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    request.pipe(stream);
  });
}
