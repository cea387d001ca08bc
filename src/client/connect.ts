import { setTimeout as pause } from "node:timers/promises";
import {
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
} from "@temporalio/client";
import { grpcReason } from "./grpc-reason.js";

type Interceptor = NonNullable<ConnectionOptions["interceptors"]>[number];
type Call = ReturnType<Parameters<Interceptor>[1]>;

const CANCELLED = 1;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

/** How long an address that refuses is asked again. */
const REFUSED_MS = 2_000;
const AGAIN_MS = 200;
const RECONNECT_MS = 5_000;

/**
 * A connection to a Temporal that answers. Rejects with what is wrong: after two seconds where the address refuses, after
 * `connectTimeout` (10 s) where it says nothing. Where the options name that time, it is given to an address that refuses, too.
 *
 * The connection may be closed while requests are tried again: they end as cancelled then. By itself the client would send them on
 * the closed channel, and that throws in a timer, where nobody can catch it.
 */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  let state: "connecting" | "open" | "closed" = "connecting";
  const retry = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());
  const retryOnceOpen = (...[call, next]: Parameters<Interceptor>): Call =>
    state === "connecting" ? next(call) : retry(call, next);
  const guard = (...[call, next]: Parameters<Interceptor>): Call =>
    state === "closed" ? cancelledCall() : next(call);
  const connection = Connection.lazy({
    // What retries asks no more of a call.
    interceptors: [retryOnceOpen as Interceptor, guard as Interceptor],
    ...options,
    // By itself gRPC looks every two minutes whether a server is back that was away for long.
    channelArgs: { "grpc.max_reconnect_backoff_ms": RECONNECT_MS, ...options.channelArgs },
  });
  const close = connection.close.bind(connection);
  connection.close = () => {
    state = "closed";
    return close();
  };
  try {
    await untilAnswer(connection, options.connectTimeout === undefined);
  } catch (error) {
    await connection.close();
    throw error;
  }
  state = "open";
  return connection;
}

async function untilAnswer(connection: Connection, givesUpOnRefusal: boolean): Promise<void> {
  const { connectTimeoutMs: silentMs } = connection.options;
  const refusedMs = givesUpOnRefusal ? Math.min(REFUSED_MS, silentMs) : silentMs;
  const begun = Date.now();
  for (;;) {
    try {
      await connection.withDeadline(begun + silentMs, () => connection.workflowService.getSystemInfo({}));
      return;
    } catch (error) {
      const code: unknown = isGrpcServiceError(error) ? error.code : undefined;
      if (code === UNIMPLEMENTED) return; // a server of long ago
      const mayPass = code === UNAVAILABLE || code === RESOURCE_EXHAUSTED;
      if (!mayPass || Date.now() - begun + AGAIN_MS > refusedMs) throw unanswered(error, code, silentMs);
    }
    await pause(AGAIN_MS);
  }
}

function unanswered(cause: unknown, code: unknown, silentMs: number): Error {
  const reason = code === DEADLINE_EXCEEDED ? `no answer within ${silentMs / 1_000} s` : grpcReason(cause);
  return new Error(reason, { cause });
}

function cancelledCall(): Call {
  const nothing = (): void => undefined;
  return {
    start(metadata, listener) {
      listener?.onReceiveStatus?.({
        code: CANCELLED,
        details: "The connection has been closed.",
        metadata,
      });
    },
    sendMessage: nothing,
    sendMessageWithContext: nothing,
    startRead: nothing,
    halfClose: nothing,
    cancelWithStatus: nothing,
    getPeer: () => "",
    getAuthContext: () => null,
  };
}
