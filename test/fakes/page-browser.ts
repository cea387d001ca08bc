import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import {
  LIVE_PATH,
  ROUTES,
  type RouteAnswer,
  type RouteName,
  type RouteRequest,
} from "../../src/page/api.js";

/** What came back. */
export interface PageAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

/** A message of a stream. */
export interface StreamedMessage {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
}

/** Sends a request as it is: nothing is added to it, not even a `Host`. */
export async function sendRaw(
  port: number,
  { method = "GET", path, headers = {}, body }: RawRequest,
): Promise<PageAnswer> {
  const asked = request({ host: "127.0.0.1", port, method, path, headers, setHost: false });
  asked.end(body);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response), headers: response.headers };
}

/** A browser that has opened a link: it sends what one sends for requests of the page itself. */
export class PageBrowser {
  readonly port: number;
  readonly cookie: string;
  private readonly place: string;

  private constructor(port: number, setCookie: string) {
    this.port = port;
    this.cookie = setCookie.split(";", 1)[0] ?? "";
    this.place = /; Path=([^;]+)/.exec(setCookie)?.[1] ?? "";
  }

  /** Where a path of the API is, as the link has told. */
  at(path: string): string {
    return path.replace(/^\/api/, this.place);
  }

  static async open(link: string): Promise<PageBrowser> {
    const { port, host, pathname, search } = new URL(link);
    const { status, headers } = await sendRaw(Number(port), {
      path: pathname + search,
      headers: {
        Host: host,
        "Sec-Fetch-Site": "none",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
      },
    });
    if (status !== 303) throw new Error(`The link does not open the page: ${status}.`);
    return new PageBrowser(Number(port), headers["set-cookie"]?.[0] ?? "");
  }

  get own(): string {
    return `127.0.0.1:${this.port}`;
  }

  headers(): Record<string, string> {
    return { Host: this.own, Cookie: this.cookie, "Sec-Fetch-Site": "same-origin" };
  }

  /** The whole answer, whatever its status. */
  send<N extends RouteName>(name: N, asked: RouteRequest<N>): Promise<PageAnswer> {
    const { method, path } = ROUTES[name];
    if (method === "POST") {
      const headers = { ...this.headers(), Origin: `http://${this.own}`, "Content-Type": "application/json" };
      return sendRaw(this.port, { method, path: this.at(path), headers, body: JSON.stringify(asked) });
    }
    return sendRaw(this.port, { path: `${this.at(path)}?${queryOf(asked)}`, headers: this.headers() });
  }

  /** The answer of a route. Rejects with the fault where it is one. */
  async ask<N extends RouteName>(name: N, asked: RouteRequest<N>): Promise<RouteAnswer<N>> {
    const { status, body } = await this.send(name, asked);
    if (status !== 200) throw new Error(`${status} ${body}`);
    return JSON.parse(body) as RouteAnswer<N>; // as the server's types say
  }

  /** Watches a run: the messages as they come. */
  async watch(
    run: string,
    more: { readonly seq?: number; readonly lastId?: string } = {},
  ): Promise<Watching> {
    const { seq, lastId } = more;
    const query = queryOf({ run, ...(seq === undefined ? {} : { seq }) });
    const headers = { ...this.headers(), ...(lastId === undefined ? {} : { "Last-Event-ID": lastId }) };
    const asked = request({
      host: "127.0.0.1",
      port: this.port,
      path: `${this.at(LIVE_PATH)}?${query}`,
      headers,
    });
    asked.end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    const watching = new Watching(response);
    onTestFinished(() => watching.close());
    return watching;
  }
}

function queryOf(asked: object): string {
  return new URLSearchParams(
    Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
}

/** A stream that is read. */
export class Watching {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly messages: StreamedMessage[] = [];
  /** Settles when the server has ended it. */
  readonly ended: Promise<void>;
  private readonly response: IncomingMessage;

  constructor(response: IncomingMessage) {
    this.response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.ended = this.read().catch(() => undefined);
  }

  of(event: string): readonly StreamedMessage[] {
    return this.messages.filter((message) => message.event === event);
  }

  close(): void {
    this.response.destroy();
  }

  private async read(): Promise<void> {
    let fields: Record<string, string> = {};
    for await (const line of createInterface({ input: this.response })) {
      if (line === "") {
        const { event, id, data } = fields;
        if (event !== undefined) this.messages.push({ event, id, data: JSON.parse(data ?? "null") });
        fields = {};
        continue;
      }
      const [, name = "", value = ""] = /^([a-z]*): (.*)$/.exec(line) ?? [];
      fields[name] = value;
    }
  }
}
