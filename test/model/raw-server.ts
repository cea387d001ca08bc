import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { listen } from "../fakes/listen.js";

export interface RawRequest {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** A loopback server that answers by hand, well or badly, and keeps what it was asked. */
export async function startRawServer(
  answer: (response: ServerResponse, request: RawRequest) => void,
): Promise<{ readonly baseUrl: string; readonly requests: readonly RawRequest[] }> {
  const requests: RawRequest[] = [];
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const request = { url: message.url ?? "", headers: message.headers, body };
      requests.push(request);
      answer(response, request);
    });
  });
  return { baseUrl: `http://127.0.0.1:${await listen(server)}/v1`, requests };
}
