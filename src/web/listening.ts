import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { boundConnections } from "./bound-connections.js";

/** A server of ours that listens. */
export interface Listening {
  readonly port: number;
  /** Whoever is connected is not waited for. */
  readonly close: () => Promise<void>;
}

/** Listens, its connections bounded; rejects with the error of `listen`, as of a port that is taken. Port 0 is any that is free. */
export async function listening(
  server: Server,
  place: { readonly host: string; readonly port: number },
): Promise<Listening> {
  boundConnections(server);
  server.maxHeadersCount = 0; // their bytes are bounded; beyond a number they would be passed over, also those that say who asks
  server.listen({ ...place, exclusive: true });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server that listens has such an address
  return {
    port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
