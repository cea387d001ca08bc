import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import {
  type Announced,
  GUARDING_HEADERS,
  authoritiesOf,
  onlyOne,
  refusalOf,
} from "../../web/foreign-requests.js";
import { type Listening, listening } from "../../web/listening.js";
import { bodyWithin } from "../../web/request-body.js";
import {
  LIVE_PATH,
  MAX_ANSWER_BYTES,
  MAX_BODY_BYTES,
  MAX_STREAMS,
  ROUTES,
  type RouteName,
  openedHref,
} from "../api.js";
import { type Asset, BUILT_PAGE, loadAssets } from "./assets.js";
import { NOT_TOLD_AGAIN, PageRefusal, WrongMethod, toRefusal } from "./faults.js";
import { streamRun } from "./live.js";
import { KnownRuns, type PageDeps } from "./places.js";
import { readiness } from "./readiness.js";
import { parseLive, queryOf } from "./requests.js";
import { answerRoute, answersOf } from "./routes.js";
import { type Session, Sessions } from "./sessions.js";
import { unlessAway } from "./unless-away.js";

export interface PageOptions extends PageDeps {
  /** Where it listens. Another host than 127.0.0.1 is for a container whose port is published on that address. */
  readonly host?: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Is told of the link that lets a browser in, and of the next one when it was used. */
  readonly onLink: (url: string) => void;
  /** Aborted as long as Temporal is known not to answer. */
  readonly away?: () => AbortSignal;
  /** Is told of what the page's server has failed at. */
  readonly onFailure?: (error: unknown) => void;
  /** Where the built page lies. */
  readonly assetsDir?: string;
}

export type PageServer = Listening;

/** Under this address browsers come, wherever the server listens. */
const ANNOUNCED_HOST = "127.0.0.1";
const OPEN_PATH = "/open";
const MAX_HEADER_BYTES = 16 * 1024;
const REQUEST_MS = 30_000;

const HEADERS: readonly (readonly [string, string])[] = [
  ...GUARDING_HEADERS,
  [
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  ],
  ["Referrer-Policy", "no-referrer"],
  ["Cache-Control", "no-store"],
];

/** Serves the page until it is closed. Rejects with the error of `listen`, as of a port that is taken. */
export async function servePage(options: PageOptions): Promise<PageServer> {
  const { host = ANNOUNCED_HOST, port: wanted, assetsDir = BUILT_PAGE } = options;
  const assets = await loadAssets(assetsDir);
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: REQUEST_MS });
  const served = await listening(server, { host, port: wanted });
  const { port } = served;
  const origin = `http://${ANNOUNCED_HOST}:${port}`;
  const sessions = new Sessions(port, (token) => options.onLink(`${origin}${OPEN_PATH}?token=${token}`));
  const page = new Page(options, assets, sessions, authoritiesOf(ANNOUNCED_HOST, port));
  server.on("request", (request, response) => void page.take(request, response));
  return served;
}

class Page {
  private readonly announced: Announced;
  private readonly runs: KnownRuns;
  private readonly answers: ReturnType<typeof answersOf>;
  private readonly options: PageOptions;
  private readonly assets: ReadonlyMap<string, Asset>;
  private readonly sessions: Sessions;
  private readonly whyNotReady: () => Promise<string | undefined>;

  constructor(
    options: PageOptions,
    assets: ReadonlyMap<string, Asset>,
    sessions: Sessions,
    authorities: ReadonlySet<string>,
  ) {
    this.options = options;
    this.assets = assets;
    this.sessions = sessions;
    this.runs = new KnownRuns(options);
    this.whyNotReady = readiness(options.client);
    this.answers = answersOf(options, this.runs);
    const isPage = (url: string): boolean => ["/", OPEN_PATH].includes(url.split("?", 1)[0] ?? "");
    this.announced = { name: "Interlock's page", authorities, isPage };
  }

  /** Answers one request. Never rejects. */
  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of HEADERS) response.setHeader(name, value);
    try {
      const refusal = refusalOf(request, this.announced);
      if (refusal !== null) throw new PageRefusal(403, "REFUSED", refusal);
      await this.route(request, response);
    } catch (error) {
      if (response.headersSent) {
        response.destroy(); // a browser that has gone before its stream could say why it ends
        return;
      }
      const refusal = toRefusal(error);
      if (refusal.status === 500) this.options.onFailure?.(error);
      request.resume();
      // What is left of a body that is not read must not become the next request.
      if (!request.complete) response.setHeader("Connection", "close");
      if (refusal instanceof WrongMethod) response.setHeader("Allow", refusal.allowed);
      const { code, message, status } = refusal;
      sendJson(response, status, { error: { code, message } });
    }
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, query } = partsOf(request.url ?? "");
    if (pathname === "/healthz") {
      requireMethod(request, "GET");
      sendText(response, 200, "ok\n");
    } else if (pathname === "/readyz") {
      requireMethod(request, "GET");
      const why = await this.whyNotReady();
      sendText(response, why === undefined ? 200 : 503, `${why ?? "ok"}\n`);
    } else if (pathname === OPEN_PATH) this.open(request, response, query);
    else if (pathname.startsWith("/api/"))
      await this.askApi(request, response, this.apiPath(pathname), query);
    else this.file(request, response, pathname);
  }

  /** The link that was printed: it is good once, for a browser that shows it. */
  private open(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
    requireMethod(request, "GET");
    const { "sec-purpose": purpose, purpose: older } = request.headers; // a browser fetches what it may show later
    const isShown = request.method === "GET" && purpose === undefined && older === undefined;
    const cookie = isShown ? this.sessions.open(queryOf(query)["token"] ?? "") : undefined;
    if (cookie === undefined) {
      sendText(
        response,
        403,
        "This link is not good any more: each is good once. The program that printed it has printed the next one.\n",
      );
      return;
    }
    response.writeHead(303, { Location: openedHref(this.sessions.place), "Set-Cookie": cookie });
    response.end();
  }

  /** A path as `ROUTES` has it. */
  private apiPath(pathname: string): string {
    const { place } = this.sessions;
    if (!pathname.startsWith(`${place}/`)) throw noSession(pathname);
    return `/api${pathname.slice(place.length)}`;
  }

  private askApi(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    return path === LIVE_PATH
      ? this.stream(request, response, query)
      : this.answer(request, response, path, query);
  }

  private session(request: IncomingMessage): Session {
    const session = this.sessions.find(request.headers.cookie);
    if (session !== undefined) return session;
    throw noSession(request.url);
  }

  private async answer(
    request: IncomingMessage,
    response: ServerResponse,
    pathname: string,
    query: URLSearchParams,
  ): Promise<void> {
    this.session(request);
    const name = ROUTE_OF.get(pathname);
    if (name === undefined) throw new PageRefusal(404, "ENOENT", "The page's API has no such path.");
    const { method } = ROUTES[name];
    requireMethod(request, method);
    if (method === "GET") {
      const answer = answerRoute(this.answers, name, queryOf(query));
      sendJson(response, 200, await unlessAway(this.options.away?.(), answer));
      return;
    }
    const asked = await bodyOf(request, query);
    const told = answerRoute(this.answers, name, asked).catch((error: unknown) => {
      throw toRefusal(error, NOT_TOLD_AGAIN);
    });
    sendJson(response, 200, await told);
  }

  private async stream(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    const session = this.session(request);
    if (request.method !== "GET") throw new WrongMethod("GET");
    const { run, seq } = parseLive(queryOf(query));
    const place = await this.runs.find(run);
    this.session(request); // another one may have taken its place
    if (session.streams >= MAX_STREAMS) {
      response.setHeader("Retry-After", "5");
      throw new PageRefusal(503, "REFUSED", `This browser watches ${MAX_STREAMS} runs already.`);
    }
    session.streams += 1;
    const leave = () => response.destroy();
    session.over.signal.addEventListener("abort", leave);
    const again = /^\d{1,9}$/.exec(onlyOne(request.headersDistinct["last-event-id"]) ?? "");
    try {
      const from = again === null ? seq : Number(again[0]);
      await streamRun(place, response, from, (error) => this.options.onFailure?.(error));
    } finally {
      session.over.signal.removeEventListener("abort", leave);
      session.streams -= 1;
    }
  }

  private file(request: IncomingMessage, response: ServerResponse, pathname: string): void {
    requireMethod(request, "GET");
    const asset = this.assets.get(pathname);
    if (asset === undefined) {
      const isUnbuilt = pathname === "/" && this.assets.size === 0;
      throw new PageRefusal(404, "ENOENT", isUnbuilt ? "This build has no page." : "There is no such file.");
    }
    const { bytes, type, etag } = asset;
    response.setHeader("ETag", etag);
    response.setHeader("Cache-Control", "no-cache");
    if (request.headers["if-none-match"] === etag) response.writeHead(304).end();
    else send(response, 200, type, bytes);
  }
}

/** A place that only a link has told of: of this process, or of one before it. */
const OPENED = /^\/api\/[\w-]{43}\//;

function noSession(url = ""): PageRefusal {
  const message = OPENED.test(url)
    ? "This browser is not let in any more: the program that serves the page was started anew, or the browser was, or others have taken its place."
    : "This browser has not opened the link.";
  return new PageRefusal(401, "NO_SESSION", message);
}

const ROUTE_OF: ReadonlyMap<string, RouteName> = new Map(
  (Object.keys(ROUTES) as RouteName[]).map((name) => [ROUTES[name].path, name]), // the keys of that table
);

/** As it was sent: nothing in it is decoded or resolved but its query. */
function partsOf(url: string): { readonly pathname: string; readonly query: URLSearchParams } {
  const mark = url.indexOf("?");
  if (mark === -1) return { pathname: url, query: new URLSearchParams() };
  return { pathname: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

function requireMethod({ method }: IncomingMessage, wanted: "GET" | "POST"): void {
  if (method === wanted || (wanted === "GET" && method === "HEAD")) return;
  throw new WrongMethod(wanted, wanted === "GET" ? "GET, HEAD" : wanted);
}

/** The JSON of a request that changes something. What forms can send is refused. */
async function bodyOf(request: IncomingMessage, query: URLSearchParams): Promise<unknown> {
  const type = onlyOne(request.headersDistinct["content-type"]) ?? "";
  if (
    !/^application\/json(?:; ?charset=utf-8)?$/i.test(type) ||
    request.headers["content-encoding"] !== undefined
  ) {
    throw new PageRefusal(415, "REFUSED", "Send application/json.");
  }
  if (query.size > 0)
    throw new PageRefusal(400, "E_SCHEMA_VALIDATION", "What changes something is said in the body.");
  const tooLarge = new PageRefusal(413, "E_WRITE_LIMIT", `A request has at most ${MAX_BODY_BYTES} bytes.`);
  const bytes = await bodyWithin(request, MAX_BODY_BYTES, tooLarge).catch((error: unknown) => {
    if (error === tooLarge || request.complete) throw error;
    throw new PageRefusal(400, "REFUSED", "The request was cut off.", error); // who goes away has asked for nothing
  });
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new PageRefusal(400, "E_SCHEMA_VALIDATION", "The body is no JSON in UTF-8.", error);
  }
}

function sendJson(response: ServerResponse, status: number, answer: object): void {
  const bytes = Buffer.from(JSON.stringify(answer));
  if (bytes.length > MAX_ANSWER_BYTES) {
    const message = `The answer would have ${bytes.length} bytes, and at most ${MAX_ANSWER_BYTES} are sent.`;
    sendJson(response, 409, { error: { code: "E_READ_LIMIT", message } });
  } else send(response, status, "application/json; charset=utf-8", bytes);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, "text/plain; charset=utf-8", Buffer.from(text));
}

/** Of HEAD, Node sends the headers alone. */
function send(response: ServerResponse, status: number, type: string, bytes: Buffer): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "Content-Type": type, "Content-Length": bytes.length });
  response.end(bytes);
}
