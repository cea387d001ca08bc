import type { IncomingMessage } from "node:http";

/*
 * A server on a loopback address is reached by every web page in a browser of that machine, also under a name that is rebound to it. These
 * rules let in only what a browser sends that was led to the announced address.
 */

/** What is served, and where. */
export interface Announced {
  /** What it is called, as in "the Web UI". */
  readonly name: string;
  /** The names and ports under which browsers may come, the first of them for messages. */
  readonly authorities: ReadonlySet<string>;
  /** Whether this path, with its query, is a page: links of other pages may lead to it. */
  readonly isPage: (url: string) => boolean;
}

const HTTP_PORT = 80;
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** What `Sec-Fetch-Site` is of our own pages, and of an address that the user typed or opened from a program. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "none"]);

/** What every answer says to browsers. */
export const GUARDING_HEADERS: readonly (readonly [string, string])[] = [
  ["X-Frame-Options", "DENY"],
  ["Cross-Origin-Resource-Policy", "same-origin"],
  ["Cross-Origin-Opener-Policy", "same-origin"],
  ["X-Content-Type-Options", "nosniff"],
];

/** Why a request is not let in, as a sentence; null for one that may pass. */
export function refusalOf(request: IncomingMessage, { name, authorities, isPage }: Announced): string | null {
  const { method = "", url = "", headersDistinct: headers } = request;
  const host = onlyOne(headers["host"])?.toLowerCase();
  if (host === undefined || !authorities.has(host)) {
    return `This is ${name} of ${[...authorities][0]}, and answers to that name only.`;
  }
  if (!/^\/(?!\/)/.test(url)) return "A request names a path, not an address.";
  const origin = headers["origin"] === undefined ? undefined : (onlyOne(headers["origin"]) ?? "");
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`) {
    return `Pages of other origins may not use ${name}.`;
  }
  if (!SAFE_METHODS.has(method) && origin === undefined) {
    return `Only pages of ${name} itself may change something.`;
  }
  const site = headers["sec-fetch-site"] === undefined ? undefined : onlyOne(headers["sec-fetch-site"]);
  if (headers["sec-fetch-site"] !== undefined && (site === undefined || !OWN_SITES.has(site))) {
    return isNavigation(request) && isPage(url) ? null : `Pages of other origins may not use ${name}.`;
  }
  return null;
}

/** Somebody follows a link: what comes is shown in a window of its own, which no other page can read. */
function isNavigation({ method = "", headersDistinct: headers }: IncomingMessage): boolean {
  return (
    SAFE_METHODS.has(method) &&
    onlyOne(headers["sec-fetch-mode"]) === "navigate" &&
    onlyOne(headers["sec-fetch-dest"]) === "document"
  );
}

/** A header that is there once; undefined for none and for several. */
export function onlyOne(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 ? values[0] : undefined;
}

/** The names under which a browser on this machine reaches the address, as it says them: without the port that HTTP has anyway. */
export function authoritiesOf(host: string, port: number): ReadonlySet<string> {
  return new Set([host, "localhost"].map((name) => (port === HTTP_PORT ? name : `${name}:${port}`)));
}
