import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { Server } from "node:net";
import { expect, test } from "vitest";
import { answersAsTemporal } from "../../src/embedded/probe.js";
import { listen } from "../fakes/listen.js";

async function addressOf(server: Server): Promise<string> {
  return `127.0.0.1:${await listen(server)}`;
}

function grpcServer(status: string) {
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.end();
  });
  return server;
}

test("a gRPC service that knows the namespace answers as Temporal does", async () => {
  expect(await answersAsTemporal(await addressOf(grpcServer("0")), "default")).toBe(true);
});

test("one that refuses does not", async () => {
  expect(await answersAsTemporal(await addressOf(grpcServer("5")), "default")).toBe(false);
});

test("neither does a web server, nor a port that is closed", async () => {
  const server = createHttpServer((_, response) => response.end("hello"));
  const address = await addressOf(server);
  expect(await answersAsTemporal(address, "default")).toBe(false);
  server.close();
  await once(server, "close");
  expect(await answersAsTemporal(address, "default")).toBe(false);
});
