import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { serveHealth } from "../../src/instruments/health.js";

test("health says that the process lives, and whether it takes work", async () => {
  const health = await serveHealth({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => health.close());
  const get = async (path: string, method = "GET") => {
    const response = await fetch(`http://127.0.0.1:${health.port}${path}`, { method });
    return [response.status, await response.text()];
  };
  expect(await get("/readyz")).toEqual([503, "The worker is starting.\n"]);
  health.use(() => Promise.resolve("Temporal does not answer."));
  expect(await get("/healthz")).toEqual([200, "ok\n"]);
  expect(await get("/readyz?x")).toEqual([503, "Temporal does not answer.\n"]);
  health.use(() => Promise.resolve(undefined));
  expect(await get("/readyz")).toEqual([200, "ok\n"]);
  health.use(() => Promise.reject(new Error("secret")));
  expect(await get("/readyz")).toEqual([503, "It cannot be said whether the worker is ready.\n"]);
  expect((await get("/readyz", "POST"))[0]).toBe(405);
  const refused = await fetch(`http://127.0.0.1:${health.port}/healthz`, { method: "PUT" });
  expect(refused.headers.get("allow")).toBe("GET, HEAD");
  expect((await get("/"))[0]).toBe(404);
});

test("no page of another origin loads what health says: neither as a script nor in a frame", async () => {
  const health = await serveHealth({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => health.close());
  const { headers } = await fetch(`http://127.0.0.1:${health.port}/readyz`);
  expect(Object.fromEntries(headers)).toMatchObject({
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  });
});

test("however many probe at once, whoever knows is asked once, and again by the next", async () => {
  const health = await serveHealth({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => health.close());
  let asked = 0;
  let answer: (why: string) => void = () => undefined;
  health.use(() => {
    asked += 1;
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const probes = connect(health.port, "127.0.0.1");
  onTestFinished(() => void probes.destroy());
  let told = "";
  probes.on("data", (bytes) => (told += String(bytes)));
  const timesTold = () => told.split("Not yet.").length - 1;
  for (const round of [1, 2]) {
    // One packet: all are there when the first one is answered.
    probes.write("GET /readyz HTTP/1.1\r\nHost: here\r\n\r\n".repeat(20));
    await expect.poll(() => asked).toBe(round);
    answer("Not yet.");
    await expect.poll(timesTold).toBe(20 * round);
  }
  expect(asked).toBe(2);
});

test("probes that never say what they want take a bounded number of the worker's descriptors, and keep none out", async () => {
  const health = await serveHealth({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => health.close());
  let open = 250;
  for (let left = open; left > 0; left -= 1) {
    const held = connect(health.port, "127.0.0.1").on("error", () => undefined);
    held.on("close", () => (open -= 1)).write("GET /healthz HTTP/1.1\r\nHost: ");
  }
  await expect.poll(() => open).toBeLessThanOrEqual(100);
  expect((await fetch(`http://127.0.0.1:${health.port}/healthz`)).status).toBe(200);
});

test("an address that is taken is told at once", async () => {
  const first = await serveHealth({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => first.close());
  await expect(serveHealth({ host: "127.0.0.1", port: first.port })).rejects.toThrow("EADDRINUSE");
});
