import { once } from "node:events";
import { type Socket, connect as dial, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/connect.js";
import { freePort } from "../fakes/free-port.js";

test("an address that refuses is asked again for a moment, or as long as the caller says, and then named with the reason", async () => {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  await expect(connect({ address })).rejects.toThrow(`connect ECONNREFUSED ${address}`);
  const connecting = connect({ address, connectTimeout: "1 minute" });
  const between = await gateway(port);
  const connection = await connecting;
  await expect(connection.workflowService.getSystemInfo({})).resolves.toBeDefined();
  await connection.close();
  between.close();
});

test("a connection that is closed while its requests are tried again lets them end", async () => {
  const between = await gateway();
  const connection = await connect({ address: `127.0.0.1:${between.port}` });
  // The server goes away: what is asked is tried again and again.
  between.close();
  const asked = connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
  await new Promise((resolve) => setImmediate(resolve));
  await connection.close();
  expect(String(await asked)).toContain("The connection has been closed");
});

/** Temporal at another port, until it is closed. */
async function gateway(at = 0): Promise<{ readonly port: number; close(): void }> {
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(inject("temporalAddress")) ?? [];
  const sockets = new Set<Socket>();
  const between = createServer((socket) => {
    const onward = dial(Number(port), host);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => undefined).pipe(other);
    }
  });
  const close = (): void => {
    between.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(close);
  between.listen(at, "127.0.0.1");
  await once(between, "listening");
  return { port: (between.address() as AddressInfo).port, close }; // it listens on TCP
}
