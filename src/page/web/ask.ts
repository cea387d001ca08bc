import { type PageFault, ROUTES, type RouteAnswer, type RouteName, type RouteRequest } from "../api.js";
import { apiPath } from "./api-place.js";

/** What the server has refused, in a sentence for people. */
export class PageError extends Error {
  /** Of contracts §15, or one of the page's own. `OFFLINE`: the page's server did not answer. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "PageError";
    this.code = code;
  }
}

/** A server that is there answers sooner; behind a broken tunnel nothing would ever come. */
const PATIENCE_MS = 60_000;
/** While an answer is waited for, the server is asked so often whether it is there at all. */
const LOOK_MS = 8_000;

/** Asks a route. Throws a `PageError`, or what the signal was aborted with. */
export async function ask<N extends RouteName>(
  name: N,
  request: RouteRequest<N>,
  signal?: AbortSignal,
): Promise<RouteAnswer<N>> {
  const { method, path } = ROUTES[name];
  const gone = new AbortController();
  const looking = setInterval(() => void lookForServer(gone), LOOK_MS);
  try {
    const until = [AbortSignal.timeout(PATIENCE_MS), gone.signal, ...(signal === undefined ? [] : [signal])];
    const response = await send(method, apiPath(path), request, AbortSignal.any(until));
    const answer: unknown = await response.json().catch(() => undefined);
    if (response.ok && answer !== undefined) return answer as RouteAnswer<N>; // both sides have their types from one place
    throw faultOf(answer, response.status);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearInterval(looking);
  }
}

/**
 * A server that was stopped takes connections, and answers nothing. Without credentials, since browsers have connections of their own for
 * that: of the others they have six for all tabs, which may all wait for a Temporal that says nothing.
 */
async function lookForServer(gone: AbortController): Promise<void> {
  const how = { method: "HEAD", cache: "no-store", credentials: "omit" } as const;
  try {
    await fetch("/healthz", { ...how, signal: AbortSignal.timeout(LOOK_MS) });
  } catch (error) {
    gone.abort(error);
  }
}

async function send(method: string, path: string, request: object, until: AbortSignal): Promise<Response> {
  const options = { method, credentials: "same-origin", cache: "no-store", signal: until } as const;
  try {
    if (method === "GET") return await fetch(withQuery(path, request), options);
    const headers = { "Content-Type": "application/json" };
    return await fetch(path, { ...options, headers, body: JSON.stringify(request) });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new PageError(
      "OFFLINE",
      `The server of this page does not answer (${why}). Is interlock ui still running?`,
    );
  }
}

/** A path with what is asked as its query; what is undefined is left out. */
export function withQuery(path: string, request: object): string {
  const words = Object.entries(request).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, String(value)]],
  );
  return words.length === 0 ? path : `${path}?${new URLSearchParams(words)}`;
}

function faultOf(answer: unknown, status: number): PageError {
  const fault = answer as PageFault | undefined; // looked at below: a proxy may have answered in its place
  const { code, message } = fault?.error ?? {};
  if (typeof code === "string" && typeof message === "string") return new PageError(code, message);
  return new PageError("OFFLINE", `The server of this page answered with status ${status}.`);
}

export function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error;
  return new PageError("E_INTERNAL", error instanceof Error ? error.message : String(error));
}
