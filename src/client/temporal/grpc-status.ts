import { ServiceError, isGrpcServiceError } from "@temporalio/client";

/* Statuses of gRPC, as its documentation numbers them. Temporal's client gives them as they are. */

export const CANCELLED = 1;
export const INVALID_ARGUMENT = 3;
export const DEADLINE_EXCEEDED = 4;
export const NOT_FOUND = 5;
export const PERMISSION_DENIED = 7;
export const RESOURCE_EXHAUSTED = 8;
export const UNIMPLEMENTED = 12;
export const UNAVAILABLE = 14;
export const UNAUTHENTICATED = 16;

/** What a request ends with, as cancelled, on a connection that its own program has closed. */
export const CONNECTION_CLOSED = "The connection has been closed.";

/** How a request to Temporal ended. */
export interface GrpcStatus {
  readonly code: number;
  /** In the server's words. */
  readonly details: string;
}

/** The status in what was thrown, or in its cause: the client's calls wrap what the server says. */
export function statusIn(error: unknown): GrpcStatus | undefined {
  return statusOf(error) ?? (error instanceof Error ? statusOf(error.cause) : undefined);
}

/** The status that an error is itself. A worker's own connection leaves the details empty, and has the words as its message. */
export function statusOf(error: unknown): GrpcStatus | undefined {
  if (!isGrpcServiceError(error)) return undefined;
  const { code, details, message } = error;
  return { code, details: details === "" ? message.replace(WITHOUT_WORDS, "") : details };
}

/** What gRPC makes of a status that came without any. */
const WITHOUT_WORDS = /^\d+ [A-Z_]+: $/;

/** Nobody answers, or not in time: gRPC's words for it. */
const AWAY: readonly number[] = [DEADLINE_EXCEEDED, UNAVAILABLE];
/** What a server or a proxy breaks off is cancelled to gRPC. A worker's own connection has words for it, whatever the code. */
const AWAY_WORDS =
  /^(?:Call cancelled|Timeout expired|transport error|operation was canceled|Unexpected EOF decoding stream\.)$|^(?:h2 )?protocol error: /;

/** Whether an error says that Temporal, or a worker that it asks, does not answer: asked again, it may. */
export function isAway(error: unknown): boolean {
  const status = statusIn(error);
  return status !== undefined && (AWAY.includes(status.code) || AWAY_WORDS.test(status.details));
}

/** Whether nobody answers: what was not answered in time is another thing, where somebody has set a deadline. */
export function isUnavailable(error: unknown): boolean {
  return statusIn(error)?.code === UNAVAILABLE;
}

/** Whether Temporal does not let this in: it answers, and will say so the next time as well. */
export function isNotLetIn(error: unknown): boolean {
  const code = statusIn(error)?.code;
  return code === PERMISSION_DENIED || code === UNAUTHENTICATED;
}

/** Whether a request had no answer, which waiting may bring. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ServiceError && !isNotLetIn(error);
}
