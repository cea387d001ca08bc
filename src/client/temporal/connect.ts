import { AsyncResource } from "node:async_hooks";
import { setTimeout as pause } from "node:timers/promises";
import {
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
} from "@temporalio/client";
import { addressProblem } from "../../core/temporal-address.js";
import { grpcReason } from "./grpc-reason.js";
import {
  CANCELLED,
  CONNECTION_CLOSED,
  DEADLINE_EXCEEDED,
  RESOURCE_EXHAUSTED,
  UNIMPLEMENTED,
  UNAVAILABLE,
} from "./grpc-status.js";
import { Silence } from "./silence.js";

type Interceptor = NonNullable<ConnectionOptions["interceptors"]>[number];
type Call = ReturnType<Parameters<Interceptor>[1]>;
/** Is told when a Temporal that has answered does not any more, and when it answers again. */
type OnReach = (isReached: boolean) => void;
/** Whether it is still what was connected to that has the address. */
type IsStill = () => boolean;

/** How long an address that refuses is asked again. */
const REFUSED_MS = 2_000;
const AGAIN_MS = 200;
const RECONNECT_MS = 5_000;
/** How long requests fail before somebody is told: a server that is started anew is back sooner. */
const AWAY_MS = 3_000;
/** What is answered at once is waited for that long. */
const LOOK_MS = 5_000;
const LOOK = "GetSystemInfo";
const UNANSWERED: readonly number[] = [CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE];
/** What a request ends with, as unavailable, that a server which says nothing more was asked. */
const SAYS_NOTHING = "The server says nothing any more.";
const IS_ANOTHER = "The server has ended. What answers at its address is another one.";

/**
 * A connection to a Temporal that answers. Rejects with what is wrong: after two seconds where the address refuses, after
 * `connectTimeout` (10 s) where it says nothing, or did so for two seconds. Where the options name that time, it is given to an address that refuses, too.
 *
 * A server that says nothing any more, though its connection stands, is one that cannot be reached: requests end so, instead of waiting for it.
 * So is one that does not answer, until `isStill` says that it is back: somebody else's may have its address by then.
 *
 * The connection may be closed while requests are under way or are tried again: they end as cancelled then. By itself the client would wait
 * for an answer that may take twenty seconds, and send what is tried again on the closed channel, which throws in a timer, where nobody can
 * catch it.
 */
export async function connect(
  options: ConnectionOptions,
  onReach: OnReach = () => undefined,
  isStill: IsStill = () => true,
): Promise<Connection> {
  const problem = options.address === undefined ? undefined : addressProblem(options.address);
  if (problem !== undefined) throw new Error(`the address of Temporal ${problem}`);
  let state: "connecting" | "open" | "silent" | "closed" = "connecting";
  const retry = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());
  const retryOnceOpen = (...[call, next]: Parameters<Interceptor>): Call =>
    state === "connecting" ? next(call) : retry(call, next);
  const asked = new Set<Call>();
  const tell = (isReached: boolean): void => {
    if (state === "open" || state === "silent") onReach(isReached);
  };
  const reach = new Reach(tell, asked, (isAnswer) => silence.heard(isAnswer));
  const silence = new Silence({
    look: AsyncResource.bind(() => isThere(connection)), // not called off with whoever has asked last
    isWaiting: () => asked.size > 0,
    onChange(isSilent) {
      state = isSilent ? "silent" : "open";
      if (!isSilent) return;
      reach.silent();
      for (const call of asked) call.cancelWithStatus(UNAVAILABLE, SAYS_NOTHING);
    },
  });
  const guard = (...[call, next]: Parameters<Interceptor>): Call => {
    if (state === "closed") return endedCall(CANCELLED, CONNECTION_CLOSED);
    const isLook = call.method_definition.path.endsWith(`/${LOOK}`);
    if (state === "silent" && !isLook) return unsentCall(call.deadline);
    if (state !== "connecting" && reach.isDoubtful && !isStill()) {
      return reach.watch(unsentCall(call.deadline, IS_ANOTHER), call.deadline);
    }
    if (state === "open") silence.asked();
    return reach.watch(next(call), call.deadline);
  };
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
    silence.end();
    for (const call of asked) call.cancelWithStatus(CANCELLED, CONNECTION_CLOSED);
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
  const begun = performance.now();
  const deadline = Date.now() + silentMs;
  let until: number | undefined;
  for (;;) {
    try {
      await connection.withDeadline(deadline, () => connection.workflowService.getSystemInfo({}));
      return;
    } catch (error) {
      const code: unknown = isGrpcServiceError(error) ? error.code : undefined;
      if (code === UNIMPLEMENTED) return; // a server of long ago
      const mayPass = code === UNAVAILABLE || code === RESOURCE_EXHAUSTED;
      // What was silent for longer than that, as a way that is cut then, does not refuse.
      until ??= begun + (performance.now() - begun > refusedMs ? silentMs : refusedMs);
      if (!mayPass || performance.now() + AGAIN_MS > until) throw unanswered(error, code, silentMs);
    }
    await pause(AGAIN_MS);
  }
}

function unanswered(cause: unknown, code: unknown, silentMs: number): Error {
  const reason = code === DEADLINE_EXCEEDED ? `no answer within ${silentMs / 1_000} s` : grpcReason(cause);
  return new Error(reason, { cause });
}

/** Whether the server says anything to what is answered at once, though it be a refusal. */
async function isThere(connection: Connection): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + LOOK_MS, () => connection.workflowService.getSystemInfo({}));
    return true;
  } catch (error) {
    return isGrpcServiceError(error) && !UNANSWERED.includes(error.code);
  }
}

/** Sees how each request ends, those that are tried again too; `asked` has those that have not ended. */
class Reach {
  private failsSince: number | undefined;
  private isTold = false;
  private readonly onReach: OnReach;
  private readonly asked: Set<Call>;
  private readonly onEnd: (isAnswer: boolean) => void;

  constructor(onReach: OnReach, asked: Set<Call>, onEnd: (isAnswer: boolean) => void) {
    this.onReach = onReach;
    this.asked = asked;
    this.onEnd = onEnd;
  }

  /** The last answer was none. */
  get isDoubtful(): boolean {
    return this.failsSince !== undefined;
  }

  watch(call: Call, deadline?: Date | number): Call {
    this.asked.add(call);
    const start = call.start.bind(call);
    call.start = (metadata, listener) =>
      start(metadata, {
        onReceiveMetadata: (received) => listener?.onReceiveMetadata?.(received),
        onReceiveMessage: (message: unknown) => listener?.onReceiveMessage?.(message),
        onReceiveStatus: (status) => {
          this.asked.delete(call);
          this.ended(status.code);
          listener?.onReceiveStatus?.(endedAt(status, deadline));
        },
      });
    return call;
  }

  /** Nothing that was asked is answered, and that for long. */
  silent(): void {
    this.failsSince ??= performance.now() - AWAY_MS;
    this.tell();
  }

  private ended(code: number): void {
    if (code === CANCELLED || code === DEADLINE_EXCEEDED) return; // whoever has asked waits no longer: that says nothing
    this.failsSince = code === UNAVAILABLE ? (this.failsSince ?? performance.now()) : undefined;
    this.tell();
    this.onEnd(code !== UNAVAILABLE);
  }

  private tell(): void {
    const { failsSince } = this;
    const isAway = failsSince !== undefined && (this.isTold || performance.now() - failsSince >= AWAY_MS);
    if (isAway === this.isTold) return;
    this.isTold = isAway;
    this.onReach(!isAway);
  }
}

/**
 * At its deadline a call is ended by both sides. Where the server is the first, it says no more than that it has cancelled it; whoever
 * asked takes that for something else than nobody's answer in time.
 */
export function endedAt<S extends { readonly code: number; readonly details: string }>(
  status: S,
  deadline: Date | number = Number.POSITIVE_INFINITY,
): S {
  const isOver = Number(deadline) <= Date.now();
  if (status.code !== CANCELLED || status.details === CONNECTION_CLOSED || !isOver) return status;
  return { ...status, code: DEADLINE_EXCEEDED, details: "Deadline exceeded" };
}

/** A request that is kept from a server. Tried again until its time is over, as one whose address refuses. */
function unsentCall(deadline: Date | number = Number.POSITIVE_INFINITY, why = SAYS_NOTHING): Call {
  return Number(deadline) <= Date.now()
    ? endedCall(DEADLINE_EXCEEDED, "Deadline exceeded")
    : endedCall(UNAVAILABLE, why);
}

/** A request that is not sent. */
function endedCall(code: number, details: string): Call {
  const nothing = (): void => undefined;
  return {
    start(metadata, listener) {
      listener?.onReceiveMessage?.(null); // as gRPC does before a status that is no answer: what tries again relies on it
      listener?.onReceiveStatus?.({
        code,
        details,
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
