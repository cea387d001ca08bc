import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { notListening } from "../../src/environment/listen-address.js";
import { listen } from "../fakes/listen.js";

const WAYS = { port: "--port", address: "--host" };
const PAGE = { host: "127.0.0.1", port: 8234 };

function refusal(code: string): Error {
  return Object.assign(new Error(`listen ${code}`), { code, syscall: "listen" });
}

async function refusalOf(host: string, port: number): Promise<unknown> {
  const server = createServer().listen({ host, port, exclusive: true });
  onTestFinished(() => void server.close());
  return once(server, "listening").catch((error: unknown) => error);
}

test("another port is named where the port is taken, another address where the machine has none such", async () => {
  const port = await listen(createServer());

  expect(notListening(await refusalOf("127.0.0.1", port), { ...PAGE, port }, WAYS)).toBe(
    `Port ${port} of 127.0.0.1 is taken. Name another one with --port.`,
  );
  const nowhere = "192.0.2.1"; // no machine has it (RFC 5737)
  expect(notListening(await refusalOf(nowhere, 0), { host: nowhere, port: 0 }, WAYS)).toBe(
    "Port 0 of 192.0.2.1 cannot be listened on (EADDRNOTAVAIL): this machine has no such address. Name one that it has with --host.",
  );
});

test("a port that only root may have, and a loopback interface that is down, have remedies of their own", () => {
  expect(notListening(refusal("EACCES"), { ...PAGE, port: 80 }, WAYS)).toBe(
    "Port 80 of 127.0.0.1 cannot be listened on (EACCES): the system does not let this user have it. Name one from 1024 on with --port.",
  );
  expect(notListening(refusal("EADDRNOTAVAIL"), PAGE, WAYS)).toBe(
    "Port 8234 of 127.0.0.1 cannot be listened on (EADDRNOTAVAIL): the loopback interface is down, or has no such address (ip address show lo).",
  );
  expect(notListening(refusal("EMFILE"), PAGE, WAYS)).toBe(
    "Port 8234 of 127.0.0.1 cannot be listened on (EMFILE).",
  );
});

test("an error of something else is not said to be one of listening", () => {
  expect(notListening(new Error("no page was built"), PAGE, WAYS)).toBeUndefined();
});
