import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createProxyServer } from "httpxy";
import { z } from "zod";

/*
 * The gate stands before the Web UI on the announced port. The UI itself serves any `Host`, and so any web page that
 * rebinds its name to this machine; the gate lets in only what a browser sends that was led to the announced address.
 */

const placeSchema = z.object({ host: z.string(), port: z.number().int().min(0).max(65_535) });

export const gateOptionsSchema = z.object({
  /** Where browsers come to. */
  announced: placeSchema,
  /** Where the Web UI listens. */
  ui: placeSchema,
  /** The gate ends with this process. */
  server: z.object({ pid: z.number().int().gt(1), identity: z.string() }),
});

export type GateOptions = Readonly<z.infer<typeof gateOptionsSchema>>;
type Place = Readonly<z.infer<typeof placeSchema>>;

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** What `Sec-Fetch-Site` is of our own pages, and of an address that the user typed or opened from a program. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "none"]);
const GUARDING_HEADERS: readonly (readonly [string, string])[] = [
  ["X-Frame-Options", "DENY"],
  ["Cross-Origin-Resource-Policy", "same-origin"],
  ["Cross-Origin-Opener-Policy", "same-origin"],
  ["X-Content-Type-Options", "nosniff"],
];

/** Why the gate does not let a request in, as a sentence; null for one that may pass. */
export function refusalOf(request: IncomingMessage, authorities: ReadonlySet<string>): string | null {
  const { method = "", url = "", headersDistinct: headers } = request;
  const host = onlyOne(headers["host"])?.toLowerCase();
  if (host === undefined || !authorities.has(host)) {
    return `This is the Web UI of ${[...authorities][0]}, and answers to that name only.`;
  }
  if (!/^\/(?!\/)/.test(url)) return "A request names a path, not an address.";
  const origin = headers["origin"] === undefined ? undefined : (onlyOne(headers["origin"]) ?? "");
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`) {
    return "Pages of other origins may not use the Web UI.";
  }
  if (!SAFE_METHODS.has(method) && origin === undefined) {
    return "Only pages of the Web UI itself may change something.";
  }
  const site = headers["sec-fetch-site"] === undefined ? undefined : onlyOne(headers["sec-fetch-site"]);
  if (headers["sec-fetch-site"] !== undefined && (site === undefined || !OWN_SITES.has(site))) {
    return isNavigation(request) ? null : "Pages of other origins may not use the Web UI.";
  }
  return null;
}

/** The path of a page, in no other spelling: what the API answers is no page. */
const PAGE = /^\/(?!api(?:[/?]|$))(?:[\w~-][\w.~-]*(?:\/(?!%2e)[\w~%-][\w.~%-]*)*\/?)?(?:\?|$)/i;

/** Somebody follows a link to the Web UI: what comes is shown in a window of its own, which no other page can read. */
function isNavigation({ method = "", headersDistinct: headers, url = "" }: IncomingMessage): boolean {
  return (
    SAFE_METHODS.has(method) &&
    onlyOne(headers["sec-fetch-mode"]) === "navigate" &&
    onlyOne(headers["sec-fetch-dest"]) === "document" &&
    PAGE.test(url)
  );
}

function onlyOne(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 ? values[0] : undefined;
}

/** The names under which a browser on this machine reaches the address. */
function authoritiesOf({ host, port }: Place): ReadonlySet<string> {
  return new Set([`${host}:${port}`, `localhost:${port}`]);
}

export interface Gate {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens on the announced place; rejects with the error of `listen`, as of a port that is taken. */
export async function openGate(options: Omit<GateOptions, "server">): Promise<Gate> {
  const { announced, ui } = options;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...announced, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo; // a TCP server that listens has such an address
  serveUi(server, ui, authoritiesOf({ host: announced.host, port }));
  return {
    port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serveUi(web: Server, ui: Place, authorities: ReadonlySet<string>): void {
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
    const refusal = refusalOf(request, authorities);
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
