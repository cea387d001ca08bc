import { once } from "node:events";
import { type Socket, connect as dial, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/connect.js";

test("a connection that is closed while its requests are tried again lets them end", async () => {
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
  between.listen(0, "127.0.0.1");
  await once(between, "listening");
  onTestFinished(() => void between.close());
  const { port: own } = between.address() as AddressInfo; // it listens on TCP
  const connection = await connect({ address: `127.0.0.1:${own}` });
  // The server goes away: what is asked is tried again and again.
  between.close();
  for (const socket of sockets) socket.destroy();
  const asked = connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
  await new Promise((resolve) => setImmediate(resolve));
  await connection.close();
  expect(String(await asked)).toContain("The connection has been closed");
});
