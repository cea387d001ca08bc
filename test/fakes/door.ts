import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { onTestFinished } from "vitest";

/** What stands before Temporal here, and can be away for a while. */
export async function door(to: string) {
  const [host = "", port = ""] = to.split(":");
  const open = new Set<Socket>();
  const server = createServer((from) => {
    const onwards = connect(Number(port), host);
    for (const socket of [from, onwards]) {
      open.add(socket);
      socket.on("error", () => undefined).once("close", () => open.delete(socket));
    }
    from.pipe(onwards).pipe(from);
  });
  const listen = async (at: number): Promise<number> => {
    server.listen(at, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port; // it listens on a port
  };
  const shut = async (): Promise<void> => {
    const closed = once(server, "close");
    server.close();
    for (const socket of open) socket.destroy();
    await closed;
  };
  /** What is open stays open, and nothing comes through any more. */
  const stall = (): void => {
    for (const socket of open) socket.unpipe().pause();
  };
  const own = await listen(0);
  onTestFinished(() => (server.listening ? shut() : undefined));
  return { address: `127.0.0.1:${own}`, shut, stall, reopen: () => listen(own) };
}
