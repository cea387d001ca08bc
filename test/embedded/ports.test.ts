import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { chooseServerPorts } from "../../src/embedded/ports.js";

test("ports that somebody listens on are not chosen", async () => {
  for (const port of [7233, 8233]) {
    const server = createServer().listen(port, "127.0.0.1");
    onTestFinished(() => {
      server.close();
    });
    // If this machine uses the port already, it is just as taken.
    await Promise.race([once(server, "listening"), new Promise((resolve) => server.once("error", resolve))]);
  }

  const { port, uiPort } = await chooseServerPorts();

  expect(port).not.toBe(7233);
  expect(uiPort).not.toBe(8233);
  expect(port).not.toBe(uiPort);
});

test("ports that were tried before are not chosen again", async () => {
  const first = await chooseServerPorts();
  const second = await chooseServerPorts(new Set([first.port, first.uiPort]));
  expect(new Set([first.port, first.uiPort, second.port, second.uiPort]).size).toBe(4);
});
