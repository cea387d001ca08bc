import {
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from "@temporalio/client";

type Interceptor = NonNullable<ConnectionOptions["interceptors"]>[number];
type Call = ReturnType<Parameters<Interceptor>[1]>;

const CANCELLED = 1;

/**
 * A connection that may be closed while requests are tried again: they end as cancelled then. By itself the client would send them on
 * the closed channel, and that throws in a timer, where nobody can catch it.
 */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  let isClosed = false;
  const retry = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());
  const guard = (...[call, next]: Parameters<Interceptor>): Call => (isClosed ? cancelledCall() : next(call));
  const connection = await Connection.connect({
    interceptors: [retry, guard as Interceptor], // what retries asks no more of a call
    ...options,
  });
  const close = connection.close.bind(connection);
  connection.close = () => {
    isClosed = true;
    return close();
  };
  return connection;
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
