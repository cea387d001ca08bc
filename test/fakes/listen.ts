import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { onTestFinished } from "vitest";

/** Has a server listen on a free port of 127.0.0.1 until the test is over; who is connected to it by HTTP is not waited for. */
export async function listen(server: Server & { closeAllConnections?(): void }): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections?.();
  });
  return (server.address() as AddressInfo).port; // it listens on a port
}
