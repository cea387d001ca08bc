import { type ServerResponse, createServer } from "node:http";
import { askOnce } from "../core/ask-once.js";
import { GUARDING_HEADERS } from "../web/foreign-requests.js";
import { type Listening, listening } from "../web/listening.js";
import type { ListenAddress } from "../environment/listen-address.js";

export interface HealthServer extends Listening {
  /** From now on `/readyz` asks this; before, nothing is ready. */
  use(whyNotReady: () => Promise<string | undefined>): void;
}

/**
 * `/healthz`: the process lives. `/readyz`: it takes work; 503 with a sentence where it does not. Rejects where the address is taken.
 */
export async function serveHealth(place: ListenAddress): Promise<HealthServer> {
  let ask: () => Promise<string | undefined> = () => Promise.resolve("The worker is starting.");
  /** However many probe at once, Temporal is asked by one of them. */
  const whyNot = askOnce(() => ask());
  const server = createServer((request, response) => {
    for (const [name, value] of GUARDING_HEADERS) response.setHeader(name, value);
    const path = request.url?.split("?", 1)[0];
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      answer(response, 405, "Use GET.");
    } else if (path === "/healthz") answer(response, 200, "ok");
    else if (path !== "/readyz") answer(response, 404, "Ask for /healthz or /readyz.");
    else {
      void whyNot().then(
        (why) => answer(response, why === undefined ? 200 : 503, why ?? "ok"),
        () => answer(response, 503, "It cannot be said whether the worker is ready."),
      );
    }
  });
  return {
    ...(await listening(server, place)),
    use(whyNotReady) {
      ask = whyNotReady;
    },
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
  response.end(`${text}\n`);
}
