import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { type IncomingHttpHeaders, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A message as it came. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Answer = (response: ServerResponse, received: Received) => void;

export const status =
  (code: number, headers: Record<string, string> = {}, body = ""): Answer =>
  (response) =>
    response.writeHead(code, headers).end(body);
export const taken = status(204);

export const SECRET = `whsec_${Buffer.from("a secret that only two of us have").toString("base64")}`;

/** A receiver on the loopback address that answers as it is told: one answer after the other, the last again and again. */
export async function listenForWebhooks(...answers: readonly Answer[]) {
  const messages: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const received = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      messages.push(received);
      const answer = answers[Math.min(messages.length, answers.length) - 1] ?? taken;
      answer(response, received);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/hook`, messages, close };
}

/** One that goes with its test: for tests that run one after the other, since whose end is meant is the running test's. */
export async function openReceiver(...answers: readonly Answer[]) {
  const receiver = await listenForWebhooks(...answers);
  onTestFinished(receiver.close);
  return receiver;
}

/** Whether a message is signed with a secret, as the Standard Webhooks specification tells receivers to look. */
export function isSigned({ headers, body }: Received, secret = SECRET): boolean {
  const id = String(headers["webhook-id"]);
  const timestamp = String(headers["webhook-timestamp"]);
  if (!/^\d{10}$/.test(timestamp) || Math.abs(Date.now() / 1_000 - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  return String(headers["webhook-signature"])
    .split(" ")
    .some((entry) => {
      const [version, signature = ""] = entry.split(",");
      const given = Buffer.from(signature, "base64");
      return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
    });
}
