import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { defaultPayloadConverter } from "@temporalio/common";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type CodecServer, startCodecServer } from "../../src/seal/codec-server.js";
import { SealCodec } from "../../src/seal/seal-codec.js";
import { parseSealKeys } from "../../src/seal/seal-keys.js";

const TOKEN = "a-token-of-this-test";
const PAGE = "http://temporal.example";
const keysOf = (byte: number) => parseSealKeys(`k1:${Buffer.alloc(32, byte).toString("base64")}`);
const codec = new SealCodec(keysOf(1), "client");

let server: CodecServer;
beforeAll(async () => {
  server = await startCodecServer({ codec, host: "127.0.0.1", port: 0, token: TOKEN, origins: [PAGE] });
});
afterAll(() => server.close());

test("a codec server in a container says the address under which its published port is asked, and answers there", async () => {
  const inContainer = { codec, host: "0.0.0.0", port: 0, token: TOKEN, origins: [] };
  const published = await startCodecServer(inContainer);
  onTestFinished(() => published.close());
  const { hostname, port } = new URL(published.address);
  expect(hostname).toBe("127.0.0.1");
  const body = { method: "POST", body: '{"payloads":[]}' };
  expect((await fetch(`${published.address}/${TOKEN}/decode`, body)).status).toBe(200);
  const asked = await ask({ headers: { host: `192.0.2.1:${port}` } }, published);
  expect(asked.status).toBe(421);
});

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** `fetch` would set `Host` and `Origin` as it likes. */
function ask(
  { path = `/${TOKEN}/decode`, method = "POST", headers = {}, body = '{"payloads":[]}' }: Asked,
  of = server,
) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>(
    (resolve, reject) => {
      const content = method === "POST" ? body : "";
      const { hostname, port } = new URL(of.address);
      const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      });
      sent.on("error", reject).end(content);
    },
  );
}

const sealedJson = async (of = codec) => {
  const payloads = await of.encode([defaultPayloadConverter.toPayload("blue")], {
    type: "workflow",
    namespace: "n",
    workflowId: "run-a",
  });
  const toBase64 = (bytes?: Uint8Array | null) => Buffer.from(bytes ?? []).toString("base64");
  return JSON.stringify({
    payloads: payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, bytes]) => [name, toBase64(bytes)]),
      ),
      data: toBase64(data),
    })),
  });
};

test("decodes what is sealed, and what is plain stays; encodes it again", async () => {
  const { status, body } = await ask({ body: await sealedJson(), headers: { "X-Namespace": "default" } });
  const { payloads } = JSON.parse(body) as { payloads: { data: string }[] };
  expect([status, Buffer.from(payloads[0]?.data ?? "", "base64").toString()]).toEqual([200, '"blue"']);
  expect(JSON.parse((await ask({ body })).body)).toEqual({ payloads });
  const again = await ask({ path: `/${TOKEN}/encode`, body });
  expect(again.body).not.toContain(payloads[0]?.data);
  expect(JSON.parse((await ask({ body: again.body })).body)).toEqual({ payloads });
});

test("no payloads are decoded and encoded as none, as Temporal's command line sends them", async () => {
  for (const action of ["decode", "encode"]) {
    for (const body of ["{}", '{"payloads":[]}']) {
      const { status, body: said } = await ask({ path: `/${TOKEN}/${action}`, body });
      expect([status, JSON.parse(said)]).toEqual([200, { payloads: [] }]);
    }
  }
});

test("the token is asked for, in the path or as the bearer's", async () => {
  const statusOf = async (asked: Asked) => (await ask(asked)).status;
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ path: "/decode", headers: { Authorization: `Bearer ${TOKEN}` } })).toBe(200);
  for (const asked of [
    { path: "/decode" },
    { path: "/other/decode" },
    { path: "/decode", headers: { Authorization: "Bearer other" } },
    { path: "/decode", headers: { Authorization: TOKEN } },
    { path: "/other/decode", headers: { Authorization: `Bearer ${TOKEN}` } },
    { path: `/${TOKEN}/x/decode` },
    { path: `/decode?token=${TOKEN}` },
  ]) {
    expect([asked, await statusOf(asked)]).toEqual([asked, 401]);
  }
  expect(await statusOf({ path: `/${TOKEN}/download` })).toBe(404);
  expect(await statusOf({ method: "GET" })).toBe(404);
});

test("only pages of the named origin may ask, and only under the address it listens on", async () => {
  const preflight = await ask({
    method: "OPTIONS",
    headers: {
      Origin: PAGE,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Private-Network": "true",
    },
  });
  expect([preflight.status, preflight.headers]).toMatchObject([
    204,
    {
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": expect.stringContaining("x-namespace"),
      "access-control-allow-private-network": "true",
    },
  ]);
  for (const Origin of [
    "http://evil.example",
    "null",
    `${PAGE}.evil.example`,
    "http://temporal.example:81",
    "",
  ]) {
    const refused = await ask({ headers: { Origin } });
    expect([Origin, refused.status]).toEqual([Origin, 403]);
    expect(refused.headers).not.toHaveProperty("access-control-allow-origin");
  }
  const { port } = new URL(server.address);
  for (const Host of [
    `rebound.example:${port}`,
    "127.0.0.1:1",
    "rebound.example",
    `127.0.0.1.evil.example:${port}`,
  ]) {
    expect([Host, (await ask({ headers: { Host } })).status]).toEqual([Host, 421]);
  }
});

test.each([
  ["Host", 421, (own: string) => [`Host: ${own}`, "Host: rebound.example"]],
  ["Origin", 403, (own: string) => [`Host: ${own}`, `Origin: ${PAGE}`, "Origin: http://evil.example"]],
] as const)("a request with two headers %s is taken for neither of them", async (_, status, headers) => {
  const { hostname, port, host } = new URL(server.address);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(
    [`POST /${TOKEN}/decode HTTP/1.1`, ...headers(host), "Connection: close", "", ""].join("\r\n"),
  );
  const [answer] = (await once(socket.setEncoding("utf8"), "data")) as [string];
  socket.destroy();
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test("no spelling of a request is the server's own fault", async () => {
  const bearer = { Authorization: `Bearer ${TOKEN}` };
  for (const [asked, status] of [
    [{ path: "//" }, 401],
    [{ path: "//", headers: bearer }, 404],
    [{ path: "/%" }, 401],
    [{ path: "/%", headers: bearer }, 404],
    [{ path: "http://[/decode", headers: bearer }, 401],
    [{ path: `//${TOKEN}//decode` }, 200],
    [{ path: `/${TOKEN}/decode/` }, 200],
    [{ path: `/${TOKEN}/decode?namespace=default` }, 200],
    [{ path: `/${TOKEN}/%64ecode` }, 404],
    [{ path: `/${TOKEN}/DECODE` }, 404],
    [{ path: `/${TOKEN}/__proto__` }, 404],
    [{ path: `/${TOKEN}/constructor` }, 404],
    [{ path: "*", method: "OPTIONS", headers: { Origin: PAGE } }, 204],
    [{ method: "OPTIONS" }, 404],
    [{ method: "HEAD" }, 404],
    [{ method: "PUT" }, 404],
    [{ method: "TRACE" }, 404],
    [{ headers: { "Content-Type": "application/x-protobuf" } }, 200],
    [{ headers: { "Transfer-Encoding": "chunked" }, body: "" }, 400],
    [{ body: "[".repeat(1_000_000) }, 400],
    [{ body: `{"payloads":${"[".repeat(100_000)}${"]".repeat(100_000)}}` }, 400],
    [{ body: '{"payloads":[{"metadata":{"__proto__":"eA=="}}]}' }, 200],
  ] satisfies readonly (readonly [Asked, number])[]) {
    expect([asked.path, asked.method, asked.body?.slice(0, 60), (await ask(asked)).status]).toEqual([
      asked.path,
      asked.method,
      asked.body?.slice(0, 60),
      status,
    ]);
  }
});

test("a sealed payload of which one byte is another one is refused, wherever it stands", async () => {
  const { payloads } = JSON.parse(await sealedJson()) as {
    payloads: [{ metadata: Record<string, string>; data: string }];
  };
  const [{ metadata, data }] = payloads;
  const changed = (text: string, at: number): string => {
    const bytes = Buffer.from(text, "base64");
    bytes.writeUInt8((bytes[at] ?? 0) ^ 1, at);
    return bytes.toString("base64");
  };
  const sizeOf = (text: string) => Buffer.from(text, "base64").length;
  const others = [
    ...Array.from({ length: sizeOf(data) }, (_, at) => ({ metadata, data: changed(data, at) })),
    ...Object.entries(metadata)
      .filter(([name]) => name !== "encoding")
      .map(([name, text]) => ({ metadata: { ...metadata, [name]: changed(text, 0) }, data })),
    { metadata },
    { metadata, data: "" },
  ];
  for (const payload of others) {
    const answer = await ask({ body: JSON.stringify({ payloads: [payload] }) });
    expect([payload, answer.status]).toEqual([payload, 400]);
  }
});

test("what cannot be opened or read is refused with a sentence, and the server goes on", async () => {
  const foreign = await ask({ body: await sealedJson(new SealCodec(keysOf(2), "client")) });
  expect([foreign.status, foreign.body]).toEqual([400, expect.stringContaining("is another one")]);
  for (const body of [
    "",
    "{",
    "[]",
    '{"payloads":{}}',
    '{"payloads":[{"data":"%%%"}]}',
    '{"payloads":[1]}',
  ]) {
    expect([body, (await ask({ body })).status]).toEqual([body, 400]);
  }
  expect((await ask({ body: `"${"x".repeat(17 * 1024 * 1024)}"` })).status).toBe(413);
  expect((await ask({})).status).toBe(200);
});
