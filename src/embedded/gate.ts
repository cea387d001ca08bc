import { Agent, createServer, type Server, type ServerResponse } from "node:http";
import { createProxyServer } from "httpxy";
import { z } from "zod";
import { type Announced, GUARDING_HEADERS, authoritiesOf, refusalOf } from "../web/foreign-requests.js";
import { type Listening, listening } from "../web/listening.js";

/*
 * The gate stands before the Web UI on the announced port. The UI itself serves any `Host`, and so any web page that
 * rebinds its name to this machine; the gate lets in only what a browser sends that was led to the announced address.
 */

const placeSchema = z.object({ host: z.string(), port: z.number().int().min(0).max(65_535) });

export const gateOptionsSchema = z.object({
  /** Where browsers come to, as they say it. */
  announced: placeSchema,
  /** The address that it listens on, where that is another one, as in a container. */
  listenHost: z.string().optional(),
  /** Where the Web UI listens. */
  ui: placeSchema,
  /** The gate ends with this process; absent: when it is stopped. */
  server: z.object({ pid: z.number().int().gt(1), identity: z.string() }).optional(),
});

export type GateOptions = Readonly<z.infer<typeof gateOptionsSchema>>;
type Place = Readonly<z.infer<typeof placeSchema>>;

/** The path of a page, in no other spelling: what the API answers is no page. */
const PAGE = /^\/(?!api(?:[/?]|$))(?:[\w~-][\w.~-]*(?:\/(?!%2e)[\w~%-][\w.~%-]*)*\/?)?(?:\?|$)/i;

/** Listens on the announced place; rejects with the error of `listen`, as of a port that is taken. */
export async function openGate(options: Omit<GateOptions, "server">): Promise<Listening> {
  const { announced, listenHost = announced.host, ui } = options;
  const server = createServer();
  const gate = await listening(server, { host: listenHost, port: announced.port });
  const authorities = authoritiesOf(announced.host, gate.port);
  serveUi(server, ui, { name: "the Web UI", authorities, isPage: (url) => PAGE.test(url) });
  return gate;
}

function serveUi(web: Server, ui: Place, as: Announced): void {
  const proxy = createProxyServer({
    target: { protocol: "http:", ...ui },
    agent: new Agent({ keepAlive: true }),
    changeOrigin: true,
    proxyTimeout: 0,
  });
  proxy.on("proxyRes", (answer) => {
    for (const name of Object.keys(answer.headers)) {
      if (name.startsWith("access-control-")) delete answer.headers[name];
    }
  });
  web.on("request", (request, response) => {
    for (const [name, value] of GUARDING_HEADERS) response.setHeader(name, value);
    const refusal = refusalOf(request, as);
    if (refusal !== null) {
      request.resume();
      answer(response, 403, refusal);
      return;
    }
    proxy.web(request, response).catch(() => {
      answer(response, 502, "The Web UI does not answer; the Temporal server may be stopping.");
    });
  });
}

function answer(response: ServerResponse, status: number, sentence: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8", Connection: "close" });
  response.end(`${sentence}\n`);
}
