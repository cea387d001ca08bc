import { once } from "node:events";
import { createServer, Server, Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { chooseServerPorts, NoPortError } from "../../src/embedded/ports.js";

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

test("where nothing can listen on the loopback address, no port is looked for again and again", async () => {
  const refused = Object.assign(new Error("listen EADDRNOTAVAIL"), { code: "EADDRNOTAVAIL" });
  const listen = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server) {
    setImmediate(() => this.emit("error", refused));
    return this;
  });
  onTestFinished(() => listen.mockRestore());

  const failure: unknown = await chooseServerPorts().catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(NoPortError);
  expect(String(failure)).toMatch(/127\.0\.0\.1 \(EADDRNOTAVAIL\): the loopback interface is down/u);
});

test("where nobody can come to the loopback address, that is said, though ports of it can be bound", async () => {
  const unreached = Object.assign(new Error("connect ENETUNREACH"), { code: "ENETUNREACH" });
  const connect = vi.spyOn(Socket.prototype, "connect").mockImplementation(function (this: Socket) {
    setImmediate(() => this.emit("error", unreached));
    return this;
  });
  onTestFinished(() => connect.mockRestore());

  await expect(chooseServerPorts()).rejects.toThrow(
    /127\.0\.0\.1 \(ENETUNREACH\): the loopback interface is down/u,
  );
});

test.runIf(process.platform === "linux")(
  "the Web UI itself gets a loopback address that nobody can guess",
  async () => {
    const hosts = [];
    for (let draw = 0; draw < 3; draw += 1) hosts.push((await chooseServerPorts()).hidden.uiHost);
    expect(new Set(hosts).size).toBe(3);
    for (const host of hosts) expect(host).toMatch(/^127\.[1-9]\d*\.[1-9]\d*\.[1-9]\d*$/);
  },
);

test("the metrics get a port that browsers refuse, as long as there is a free one", async () => {
  const tried = new Set<number>();
  let refused = 0;
  for (;;) {
    const { metricsPort } = (await chooseServerPorts(tried)).hidden;
    const failure = await fetch(`http://127.0.0.1:${metricsPort}/`).then(
      () => "",
      (error: Error) => String(error.cause),
    );
    if (!failure.includes("bad port")) break;
    tried.add(metricsPort);
    refused += 1;
  }
  expect(refused).toBeGreaterThan(0);
  expect(tried.size).toBe(refused);
});
