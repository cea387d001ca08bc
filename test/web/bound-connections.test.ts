import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { listening } from "../../src/web/listening.js";
import { eventually } from "../fakes/eventually.js";

/** A server that answers when it is told to. */
async function slowServer() {
  const asked: ServerResponse[] = [];
  const server = createServer((_, response) => void asked.push(response));
  const { port, close } = await listening(server, { host: "127.0.0.1", port: 0 });
  onTestFinished(close);
  return { asked, port };
}

const REQUEST = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

test("who sends request after request and waits for no answer is cut off, and nobody else", async () => {
  const { asked, port } = await slowServer();
  const patient = connect(port, "127.0.0.1");
  patient.write(REQUEST.repeat(10));
  await eventually(() => asked.length === 10);
  const flood = connect(port, "127.0.0.1").on("error", () => undefined);
  const isOver = new Promise((resolve) => flood.once("close", resolve));
  flood.resume().write(REQUEST.repeat(100_000));
  await isOver;
  expect(asked.length).toBeLessThan(10_000); // what had come with the first that was too much
  for (const response of asked) response.end("answered");
  let said = "";
  patient.on("data", (data) => (said += String(data)));
  await eventually(() => said.match(/answered/g)?.length === 10);
  patient.destroy();
});

test("connections that have had their answers and stay keep nobody out", async () => {
  const { asked, port } = await slowServer();
  const kept = Array.from({ length: 200 }, () => connect(port, "127.0.0.1").on("error", () => undefined));
  onTestFinished(() => {
    for (const socket of kept) socket.destroy();
  });
  for (const socket of kept) socket.resume().write(REQUEST);
  await eventually(() => asked.length === 200);
  for (const response of asked) response.end("answered");
  await eventually(() => kept.filter(({ destroyed }) => destroyed).length >= 100); // they have made room
  const next = connect(port, "127.0.0.1");
  next.write(REQUEST.replace("Host", "Connection: close\r\nHost"));
  await eventually(() => asked.length === 201);
  asked.at(-1)?.end("let in");
  expect(await text(next)).toContain("let in");
});

test("a connection that waits for its answers sends as many requests as it likes", async () => {
  const { asked, port } = await slowServer();
  const kept = connect(port, "127.0.0.1");
  for (let times = 1; times <= 30; times += 1) {
    kept.write(REQUEST);
    await eventually(() => asked.length === times);
    asked.at(-1)?.end();
    await once(kept, "data");
  }
  expect(kept.destroyed).toBe(false);
  kept.destroy();
});
