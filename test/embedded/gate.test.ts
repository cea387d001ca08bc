import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openGate } from "../../src/embedded/gate.js";
import { freePort } from "../fakes/free-port.js";

const EVIL = "evil.test";

let gatePort: number;
/** What came through to the Web UI. */
let arrived: string[];

beforeEach(async () => {
  arrived = [];
  const ui = createServer((incoming, response) => {
    arrived.push(`${incoming.method} ${incoming.url} ${incoming.headers.host}`);
    response.setHeader("Set-Cookie", "_csrf=token");
    response.setHeader("Access-Control-Allow-Origin", "*");
    if (incoming.url === "/slow") {
      response.write("first part, ");
      arrived.push("first part");
      incoming.once("end", () => undefined);
      ui.once("continue", () => response.end("second part"));
    } else response.end("the runs");
  });
  ui.listen(0, "127.0.0.1");
  await once(ui, "listening");
  uiPort = (ui.address() as AddressInfo).port;
  const gate = await openGate({
    announced: { host: "127.0.0.1", port: 0 },
    ui: { host: "127.0.0.1", port: uiPort },
  });
  gatePort = gate.port;
  release = () => ui.emit("continue");
  onTestFinished(async () => {
    await gate.close();
    ui.closeAllConnections();
    ui.close();
  });
});
let release: () => void;
let uiPort: number;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

async function ask(
  method: string,
  path: string,
  headers: Record<string, string | string[]>,
): Promise<Answer> {
  const asked = request({ host: "127.0.0.1", port: gatePort, method, path, headers, setHost: false });
  asked.end(method === "POST" ? "{}" : undefined);
  const [response] = await once(asked, "response");
  return { status: response.statusCode, body: await text(response), headers: response.headers };
}

const own = () => `127.0.0.1:${gatePort}`;

describe("what a user's browser sends comes through", () => {
  test.each<[string, string, string, () => Record<string, string>]>([
    ["an address that was typed", "GET", "/", () => ({ Host: own(), "Sec-Fetch-Site": "none" })],
    ["a program without such headers", "GET", "/", () => ({ Host: own() })],
    ["the other name of this machine", "GET", "/", () => ({ Host: `LOCALHOST:${gatePort}` })],
    [
      "a page of the UI that reads",
      "GET",
      "/api/v1/namespaces",
      () => ({
        Host: own(),
        "Sec-Fetch-Site": "same-origin",
        "Sec-Fetch-Mode": "cors",
        "Sec-Fetch-Dest": "empty",
      }),
    ],
    [
      "a page of the UI that changes something",
      "POST",
      "/api/v1/x",
      () => ({ Host: own(), Origin: `http://${own()}`, "Sec-Fetch-Site": "same-origin" }),
    ],
    [
      "a link on a page of somebody else",
      "GET",
      "/namespaces/default/workflows",
      () => ({
        Host: own(),
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
      }),
    ],
  ])("%s", async (_, method, path, headers) => {
    const { status, body, headers: answered } = await ask(method, path, headers());
    expect([status, body]).toEqual([200, "the runs"]);
    expect(answered).toMatchObject({
      "set-cookie": ["_csrf=token"],
      "x-frame-options": "DENY",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(answered).not.toHaveProperty("access-control-allow-origin");
  });

  test("an answer is handed on while it comes", async () => {
    const asked = request({ host: "127.0.0.1", port: gatePort, path: "/slow" });
    asked.end();
    const [response] = await once(asked, "response");
    const [chunk] = await once(response, "data");
    expect(String(chunk)).toBe("first part, ");
    release();
    expect(await text(response)).toBe("second part");
  });
});

describe("what another page can make a browser send does not", () => {
  test.each<[string, string, string, () => Record<string, string | string[]>]>([
    ["a name that was rebound", "GET", "/", () => ({ Host: `${EVIL}:${gatePort}` })],
    ["a name without a port", "GET", "/", () => ({ Host: EVIL })],
    ["our address without the port", "GET", "/", () => ({ Host: "127.0.0.1" })],
    ["our address with another port", "GET", "/", () => ({ Host: "127.0.0.1:80" })],
    ["a name that begins like ours", "GET", "/", () => ({ Host: `${own()}.${EVIL}` })],
    ["a name that ends like ours", "GET", "/", () => ({ Host: `${EVIL}@${own()}` })],
    ["a name with a dot at its end", "GET", "/", () => ({ Host: `localhost.:${gatePort}` })],
    ["another spelling of the address", "GET", "/", () => ({ Host: `2130706433:${gatePort}` })],
    ["an address as the path", "GET", `http://${EVIL}/`, () => ({ Host: own() })],
    ["a foreign origin", "GET", "/", () => ({ Host: own(), Origin: `http://${EVIL}` })],
    ["an opaque origin", "POST", "/", () => ({ Host: own(), Origin: "null" })],
    ["an empty origin", "GET", "/", () => ({ Host: own(), Origin: "" })],
    [
      "the other name as the origin",
      "GET",
      "/",
      () => ({ Host: own(), Origin: `http://localhost:${gatePort}` }),
    ],
    ["our origin with TLS", "POST", "/", () => ({ Host: own(), Origin: `https://${own()}` })],
    ["two origins", "POST", "/", () => ({ Host: own(), Origin: [`http://${own()}`, `http://${EVIL}`] })],
    [
      "a simple POST",
      "POST",
      "/api/v1/x",
      () => ({ Host: own(), Origin: `http://${EVIL}`, "Content-Type": "text/plain" }),
    ],
    ["a POST without an origin", "POST", "/api/v1/x", () => ({ Host: own() })],
    [
      "a preflight",
      "OPTIONS",
      "/api/v1/x",
      () => ({ Host: own(), Origin: `http://${EVIL}`, "Access-Control-Request-Method": "POST" }),
    ],
    [
      "an image",
      "GET",
      "/",
      () => ({ Host: own(), "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" }),
    ],
    [
      "a page of another port of this machine",
      "GET",
      "/api/v1/x",
      () => ({ Host: own(), "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors" }),
    ],
    [
      "a frame",
      "GET",
      "/",
      () => ({
        Host: own(),
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "iframe",
      }),
    ],
    ...[
      "/api/v1/x",
      "/%61pi/v1/x",
      "/API/v1/x",
      "//api/v1/x",
      "/x/../api/v1/x",
      "/x/%2E%2E/api",
      "/api",
      "/x//api",
    ].map((path): [string, string, string, () => Record<string, string>] => [
      `a link to an answer of the API, ${path}`,
      "GET",
      path,
      () => ({
        Host: own(),
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
      }),
    ]),
    ["an address that begins with two slashes", "GET", "//evil.test/x", () => ({ Host: own() })],
    [
      "a form that is sent",
      "POST",
      "/api/v1/x",
      () => ({
        Host: own(),
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
      }),
    ],
  ])("%s", async (_, method, path, headers) => {
    const answer = await ask(method, path, headers());
    expect(answer.status).toBe(403);
    expect(answer.headers).not.toHaveProperty("set-cookie");
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    expect(arrived).toEqual([]);
  });

  test.each([
    "",
    "Host: 127.0.0.1:PORT\r\nHost: evil.test\r\n",
    "Host: evil.test\r\nHost: 127.0.0.1:PORT\r\n",
    `Host: 127.0.0.1:PORT\r\n${"x:\r\n".repeat(2_100)}Host: evil.test\r\n`,
  ])("no name, or two: %j", async (lines) => {
    const socket = connect(gatePort, "127.0.0.1");
    socket.write(`GET / HTTP/1.1\r\n${lines.replace("PORT", String(gatePort))}Connection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(arrived).toEqual([]);
  });

  test("an upgrade to another protocol", async () => {
    const socket = connect(gatePort, "127.0.0.1");
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${EVIL}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
    );
    expect(await text(socket)).not.toMatch(/^HTTP\/1\.1 (101|200)/);
    expect(arrived).toEqual([]);
  });
});

test("in a container it listens on another address than it is announced with, and answers to the announced one", async () => {
  const gate = await openGate({
    announced: { host: "127.0.0.1", port: 0 },
    listenHost: "0.0.0.0",
    ui: { host: "127.0.0.1", port: uiPort },
  });
  onTestFinished(() => gate.close());
  gatePort = gate.port;
  const asked = (Host: string) => ask("GET", "/api/v1/settings", { Host });
  expect((await asked(`127.0.0.1:${gate.port}`)).status).toBe(200);
  for (const Host of [`0.0.0.0:${gate.port}`, `temporal-ui:${gate.port}`, `evil.example:${gate.port}`]) {
    expect((await asked(Host)).status).toBe(403);
  }
});

test("a Web UI that is gone is said to be so", async () => {
  const port = await freePort();
  const gate = await openGate({ announced: { host: "127.0.0.1", port: 0 }, ui: { host: "127.0.0.1", port } });
  onTestFinished(() => gate.close());
  const response = await fetch(`http://127.0.0.1:${gate.port}/`);
  expect(response.status).toBe(502);
  expect(await response.text()).toContain("does not answer");
});

test("a port that is taken is the error of listening", async () => {
  const taken = openGate({
    announced: { host: "127.0.0.1", port: gatePort },
    ui: { host: "127.0.0.1", port: 1 },
  });
  await expect(taken).rejects.toMatchObject({ code: "EADDRINUSE" });
});
