import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { onTestFinished } from "vitest";

/** What stands before Temporal here, and can be away for a while. */
export async function door(to: string) {
  const [host = "", port = ""] = to.split(":");
  const open = new Set<Socket>();
  let isStill = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((from) => {
    const onwards = connect(Number(port), host);
    const pair = [from, onwards] as const;
    pairs.add(pair);
    from.once("close", () => pairs.delete(pair));
    for (const socket of [from, onwards]) {
      open.add(socket);
      socket.on("error", () => undefined).once("close", () => open.delete(socket));
    }
    if (!isStill) from.pipe(onwards).pipe(from);
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
  /** As `stall`, for what is opened from now on as well, until it is let go on. */
  const still = (): void => {
    isStill = true;
    stall();
  };
  const goOn = (): void => {
    isStill = false;
    for (const [from, onwards] of pairs) from.pipe(onwards).pipe(from);
  };
  const own = await listen(0);
  onTestFinished(() => (server.listening ? shut() : undefined));
  return { address: `127.0.0.1:${own}`, shut, stall, still, goOn, reopen: () => listen(own) };
}
