import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

/** A port of 127.0.0.1 that leads to a Temporal, until it is closed: then nothing answers there, as if the server were gone. */
export interface Gateway {
  readonly address: string;
  close(): void;
  /** At the same port again. */
  reopen(): Promise<void>;
}

export async function openGateway(to: string, at = 0): Promise<Gateway> {
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(to) ?? [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(port), host);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on("close", () => void sockets.delete(one));
      one.on("error", () => undefined).pipe(other);
    }
  });
  const open = async (wanted: number): Promise<number> => {
    server.listen(wanted, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port; // it listens on TCP
  };
  const own = await open(at);
  return {
    address: `127.0.0.1:${own}`,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    async reopen() {
      await open(own);
    },
  };
}
