// @module-tag slow
import { type Socket, connect, createServer } from "node:net";
import type { NativeConnectionOptions } from "@temporalio/worker";
import { expect, inject, onTestFinished, test } from "vitest";
import { defined } from "../../src/core/defined.js";
import { startWorker } from "../../src/worker.js";
import { answeringTemporal } from "../fakes/answering-temporal.js";
import { eventually } from "../fakes/eventually.js";
import { listen } from "../fakes/listen.js";
import { openPlace } from "../fakes/place.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { clientPair, tlsServer } from "../fakes/tls-server.js";

const PERMISSION_DENIED = 7;

/** A way that leads to another server from one moment on: whoever is connected has to connect anew. */
async function turningWay(first: string) {
  let target = first;
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const [host = "", port = ""] = target.split(":");
    const onward = connect(Number(port), host);
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => end.destroy());
    open.add(socket.once("close", () => onward.destroy()));
  });
  return {
    address: `127.0.0.1:${await listen(server)}`,
    turn(address: string): void {
      target = address;
      for (const socket of open) socket.destroy();
      open.clear();
    },
  };
}

/** A worker that is ready, and the way on which it has come to Temporal. */
async function readyWorker(temporal = inject("temporalAddress"), tls?: NativeConnectionOptions["tls"]) {
  quietRuntime();
  const place = await openPlace(inject("temporalAddress"), []);
  onTestFinished(() => place.close());
  const way = await turningWay(temporal);
  const worker = await startWorker(place.config, {
    connection: { address: way.address, ...defined({ tls }) },
    namespace: "default",
    store: place.store,
  });
  expect(await worker.whyNotReady()).toBeUndefined();
  return { worker, way };
}

test("a worker whose key is not taken any more says that, and not that Temporal does not answer, and ends", async () => {
  const { worker, way } = await readyWorker();

  const refusal = { code: PERMISSION_DENIED, details: "Request unauthorized." };
  way.turn(await answeringTemporal({}, refusal));
  const said = "Temporal does not let this in (Request unauthorized).";
  await eventually(async () => (await worker.whyNotReady())?.startsWith(said) === true);
  await expect(worker.done).rejects.toThrow(said);
});

test("a worker whose certificate has expired says that once Temporal does not answer it, and ends: the next one reads the renewed one", async () => {
  const { address, tls } = await tlsServer({ by: "authority", to: inject("temporalAddress") });
  const clientCertPair = await clientPair({ version: 3, curve: "prime256v1", isExpired: true });
  const own = { ...tls, serverNameOverride: "localhost", clientCertPair };
  const { worker, way } = await readyWorker(address, own);

  way.turn((await tlsServer({ by: "itself" })).address);
  const said = "The certificate that the worker shows Temporal has expired";
  await eventually(async () => (await worker.whyNotReady())?.startsWith(said) === true);
  await expect(worker.done).rejects.toThrow(said);
});

test("a worker that does not accept what Temporal shows it any more says that, and not that Temporal does not answer", async () => {
  const { address, tls } = await tlsServer({ by: "authority", to: inject("temporalAddress") });
  const { worker, way } = await readyWorker(address, { ...tls, serverNameOverride: "localhost" });

  way.turn((await tlsServer({ by: "authority" })).address);
  await expect
    .poll(() => worker.whyNotReady())
    .toMatch(/^A worker does not accept Temporal's certificate \(/);
  way.turn(address);
  await eventually(async () => (await worker.whyNotReady()) === undefined);
  await worker.shutdown();
});

test("a worker whose key may read and not write does not say that it polls: what it lacks is said at once", async () => {
  quietRuntime();
  const place = await openPlace(inject("temporalAddress"), []);
  onTestFinished(() => place.close());
  const refusal = { code: PERMISSION_DENIED, details: "Request unauthorized." };
  const address = await answeringTemporal({ ResetStickyTaskQueue: refusal });
  const starting = startWorker(place.config, {
    connection: { address },
    namespace: "default",
    store: place.store,
  });
  await expect(starting).rejects.toThrow("Request unauthorized.");
});

test("a worker that may read and write no more says what is refused", async () => {
  const { worker, way } = await readyWorker();

  const refusal = { code: PERMISSION_DENIED, details: "Request unauthorized." };
  way.turn(await answeringTemporal({ ResetStickyTaskQueue: refusal }));
  await eventually(async () => (await worker.whyNotReady()) !== undefined);
  expect(await worker.whyNotReady()).toContain("does not let this in (Request unauthorized).");
  way.turn(inject("temporalAddress"));
  await eventually(async () => (await worker.whyNotReady()) === undefined);
  await worker.shutdown();
});

test("a worker whose Temporal stands still, its connections open, says that it does not answer, and not that it refuses", async () => {
  const { worker, way } = await readyWorker();

  const silent = createServer((socket) => void socket.on("error", () => undefined).resume());
  way.turn(`127.0.0.1:${await listen(silent)}`);
  const said: (string | undefined)[] = [];
  while (said.length < 2) said.push(await worker.whyNotReady());
  expect(new Set(said)).toEqual(new Set(["Temporal does not answer."]));
  way.turn(inject("temporalAddress"));
  await eventually(async () => (await worker.whyNotReady()) === undefined);
  await worker.shutdown();
});
