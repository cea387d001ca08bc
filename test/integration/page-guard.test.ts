import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { createInterface } from "node:readline";
import { expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient } from "../../src/client/client.js";
import { LIVE_PATH, MAX_BODY_BYTES, ROUTES } from "../../src/page/api.js";
import { type PageOptions, servePage } from "../../src/page/server/serve-page.js";
import { eventually } from "../fakes/eventually.js";
import { openGateway } from "../fakes/gateway.js";
import { PageBrowser, type RawRequest, sendRaw } from "../fakes/page-browser.js";

import { type Bench, openBench, writeTree } from "./harness.js";
import { MAIN, shellOf } from "./shell.js";

/** A page of this process. */
const PAGE: Omit<PageOptions, "client"> = {
  readerOf: (there) => there.reader(),
  mayLive: () => true,
  version: "",
  webUi: undefined,
  startWorker: "interlock worker",
  by: "",
  port: 0,
  onLink: () => undefined,
};

const EVIL = "http://evil.test";

/** `interlock ui` as a process of its own, and the links that it prints. */
async function serveUi(bench: Bench) {
  const env = { ...bench.environment, PATH: process.env["PATH"], HOME: bench.dir };
  const child = spawn(process.execPath, [MAIN, "ui", "--port", "0"], { env, cwd: bench.dir });
  onTestFinished(() => void child.kill("SIGKILL"));
  const links: string[] = [];
  const lines = createInterface({ input: child.stdout });
  const first = new Promise<void>((resolve) => {
    lines.on("line", (line) => {
      const link = /https?:\/\/\S+/.exec(line)?.[0];
      if (link === undefined) return;
      links.push(link);
      resolve();
    });
  });
  await Promise.race([first, once(child, "close")]);
  return { child, links };
}

async function ended(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, "close")) as [number | null];
  return code;
}

test("the link lets one browser in, once; the next one is printed when it was used", async () => {
  const bench = await openBench([]);
  const { child, links } = await serveUi(bench);
  const [link = ""] = links;
  const { port, host, search } = new URL(link);
  const open = (more: Partial<RawRequest>) => {
    const headers = { Host: host, ...more.headers };
    return sendRaw(Number(port), { path: `/open${search}`, ...more, headers });
  };
  // What does not show the page does not use the link up.
  for (const refused of [
    { method: "HEAD" },
    { method: "POST", headers: { Origin: `http://${host}` } },
    { headers: { "Sec-Purpose": "prefetch" } },
    { headers: { Host: `evil.test:${port}` } },
    { headers: { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image" } },
    { path: "/open?token=" },
    { path: `/open${search}x` },
    { path: `/open${search}&${search.slice(1)}` },
    { path: `/open?TOKEN${search.slice(6)}` },
  ]) {
    expect([refused, (await open(refused)).status]).toEqual([refused, expect.toBeOneOf([400, 403, 405])]);
  }
  const opened = await open({});
  expect(opened).toMatchObject({
    status: 303,
    headers: { location: expect.stringMatching(/^\/#\/opened\/api\/[\w-]{43}$/) },
  });
  expect(opened.headers["set-cookie"]).toEqual([
    expect.stringMatching(/^[\w-]+=[\w-]{43}; Path=\/api\/[\w-]{43}; HttpOnly; SameSite=Strict$/),
  ]);
  expect(await open({})).toMatchObject({ status: 403 });
  expect(new Set(links).size).toBe(2);
  const browser = await PageBrowser.open(links[1] ?? "");
  expect((await browser.ask("session", {})).taskQueue).toBe(bench.store.taskQueue);
  child.kill("SIGINT");
  expect(await ended(child)).toBe(0);
});

test("who was let in, and is not any more, is told so and not that the link was never opened", async () => {
  const bench = await openBench([]);
  const links: string[] = [];
  const serve = async () => {
    const page = await servePage({ ...PAGE, client: bench.client, onLink: (link) => void links.push(link) });
    onTestFinished(() => page.close());
    return { page, browser: await PageBrowser.open(links.at(-1) ?? "") };
  };
  const said = async (port: number, path: string) => {
    const { status, body } = await sendRaw(port, { path, headers: { Host: `127.0.0.1:${port}` } });
    return { status, body };
  };
  const before = await serve();
  const { page, browser } = await serve();
  const { path } = ROUTES.session;
  const notAnyMore = { status: 401, body: expect.stringContaining("not let in any more") };
  expect(await said(page.port, before.browser.at(path))).toEqual(notAnyMore); // a server before this one
  expect(await said(page.port, browser.at(path))).toEqual(notAnyMore); // a cookie that is gone
  expect((await said(page.port, path)).body).toContain("has not opened the link");
});

test("what another page can make a browser send changes nothing and says nothing", async () => {
  const bench = await openBench([]);
  const { links } = await serveUi(bench);
  const browser = await PageBrowser.open(links[0] ?? "");
  const { own, port, cookie } = browser;
  const get = (
    more: Partial<RawRequest> & { readonly headers?: Record<string, string | string[]> },
  ): RawRequest => ({
    path: browser.at(ROUTES.session.path),
    ...more,
    headers: { Host: own, Cookie: cookie, ...more.headers },
  });
  const post = (
    headers: Record<string, string | string[]>,
    body: string | Buffer = JSON.stringify({ run: "none" }),
  ): RawRequest => ({
    method: "POST",
    path: browser.at(ROUTES.pause.path),
    headers: {
      Host: own,
      Cookie: cookie,
      Origin: `http://${own}`,
      "Content-Type": "application/json",
      ...headers,
    },
    body,
  });
  const [, foreign = ""] = /=(.*)/.exec(cookie) ?? [];
  const refused: readonly (readonly [string, number, RawRequest])[] = [
    // Names that lead here, and are not ours.
    ["a name that was rebound", 403, get({ headers: { Host: `evil.test:${port}` } })],
    ["no port", 403, get({ headers: { Host: "127.0.0.1" } })],
    ["another port", 403, get({ headers: { Host: "127.0.0.1:80" } })],
    ["a name that begins like ours", 403, get({ headers: { Host: `${own}.evil.test` } })],
    ["a login before ours", 403, get({ headers: { Host: `evil.test@${own}` } })],
    ["a dot at its end", 403, get({ headers: { Host: `localhost.:${port}` } })],
    ["a number for the address", 403, get({ headers: { Host: `2130706433:${port}` } })],
    ["the address of IPv6", 403, get({ headers: { Host: `[::1]:${port}` } })],
    ["any address", 403, get({ headers: { Host: `0.0.0.0:${port}` } })],
    ["an address as the path", 403, get({ path: `http://evil.test${browser.at(ROUTES.session.path)}` })],
    ["two slashes", 403, get({ path: `//evil.test${browser.at(ROUTES.session.path)}` })],
    // Other pages.
    ["a foreign origin", 403, get({ headers: { Origin: EVIL } })],
    ["an opaque origin", 403, get({ headers: { Origin: "null" } })],
    ["another scheme", 403, get({ headers: { Origin: `https://${own}` } })],
    ["another port of this host", 403, get({ headers: { Origin: "http://127.0.0.1:1" } })],
    ["two origins", 403, get({ headers: { Origin: [`http://${own}`, EVIL] } })],
    ["a foreign page that embeds", 403, get({ headers: { "Sec-Fetch-Site": "cross-site" } })],
    ["a page of another port", 403, get({ headers: { "Sec-Fetch-Site": "same-site" } })],
    [
      "a navigation to the API",
      403,
      get({
        headers: {
          "Sec-Fetch-Site": "cross-site",
          "Sec-Fetch-Mode": "navigate",
          "Sec-Fetch-Dest": "document",
        },
      }),
    ],
    [
      "a frame of the page",
      403,
      get({
        path: "/",
        headers: { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe" },
      }),
    ],
    // Who has not opened the link.
    ["no cookie", 401, get({ headers: { Cookie: "" } })],
    ["another value", 401, get({ headers: { Cookie: `${cookie}x` } })],
    ["another name", 401, get({ headers: { Cookie: `x=${foreign}` } })],
    [
      "the token in place of a cookie",
      401,
      get({
        headers: { Cookie: `interlock-page-${port}=${new URL(links[1] ?? "").searchParams.get("token")}` },
      }),
    ],
    ["a path that anybody knows", 401, get({ path: ROUTES.session.path })],
    [
      "another browser's path",
      401,
      get({ path: browser.at(ROUTES.session.path).replace("/session", "x/session") }),
    ],
    ["no cookie for a stream", 401, get({ path: `${browser.at(LIVE_PATH)}?run=x`, headers: { Cookie: "" } })],
    ["no cookie for a change", 401, post({ Cookie: "" })],
    // What changes something.
    [
      "no origin",
      403,
      { ...post({}), headers: { Host: own, Cookie: cookie, "Content-Type": "application/json" } },
    ],
    ["a foreign origin", 403, post({ Origin: EVIL })],
    ["a form", 415, post({ "Content-Type": "application/x-www-form-urlencoded" }, "run=none")],
    ["a form of parts", 415, post({ "Content-Type": "multipart/form-data; boundary=x" })],
    ["plain text", 415, post({ "Content-Type": "text/plain" })],
    ["plain text that names JSON", 415, post({ "Content-Type": "text/plain; application/json" })],
    ["JSON in another encoding", 415, post({ "Content-Type": "application/json; charset=utf-16" })],
    ["packed JSON", 415, post({ "Content-Encoding": "gzip" })],
    ["no type", 415, { ...post({}), headers: { Host: own, Cookie: cookie, Origin: `http://${own}` } }],
    ["a change by GET", 405, get({ path: `${browser.at(ROUTES.pause.path)}?run=none` })],
    ["a change by HEAD", 405, get({ method: "HEAD", path: `${browser.at(ROUTES.pause.path)}?run=none` })],
    ["a change by PUT", 405, { ...post({}), method: "PUT" }],
    [
      "a method in a header",
      405,
      get({
        method: "DELETE",
        path: browser.at(ROUTES.pause.path),
        headers: { Origin: `http://${own}`, "X-HTTP-Method-Override": "POST" },
      }),
    ],
    ["a preflight", 403, get({ method: "OPTIONS" })],
    ["a preflight of the page's own", 405, get({ method: "OPTIONS", headers: { Origin: `http://${own}` } })],
    ["a trace", 403, get({ method: "TRACE" })],
    ["a question by POST", 405, { ...post({}), path: browser.at(ROUTES.run.path) }],
    // Bodies and queries.
    ["no JSON", 400, post({}, "{")],
    ["no UTF-8", 400, post({}, Buffer.from([0x22, 0xff, 0x22]))],
    ["another shape", 400, post({}, "[]")],
    ["a field more", 400, post({}, JSON.stringify({ run: "x", more: 1 }))],
    ["a prototype", 400, post({}, '{"run":"x","__proto__":{}}')],
    ["what is said in the query", 400, { ...post({}), path: `${browser.at(ROUTES.pause.path)}?run=x` }],
    ["a large body", 413, post({}, "x".repeat(MAX_BODY_BYTES + 1))],
    [
      "a large body of unknown length",
      413,
      post({ "Transfer-Encoding": "chunked" }, "x".repeat(MAX_BODY_BYTES + 1)),
    ],
    ["a name twice", 400, get({ path: `${browser.at(ROUTES.run.path)}?run=a&run=b` })],
    ["a page that is too large", 400, get({ path: `${browser.at(ROUTES.runs.path)}?limit=100000` })],
    ["no number", 400, get({ path: `${browser.at(ROUTES.runs.path)}?limit=1e1` })],
  ];
  for (const [what, status, request] of refused) {
    const answer = await sendRaw(port, request);
    expect([what, answer.status]).toEqual([what, status]);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
    expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(answer.body).not.toContain(bench.store.taskQueue);
  }
  expect(await sendRaw(port, get({}))).toMatchObject({ status: 200 });
  expect(await sendRaw(port, get({ headers: { Host: `LOCALHOST:${port}` } }))).toMatchObject({ status: 200 });
  const health = { path: "/healthz", headers: { Host: own } };
  expect(await sendRaw(port, health)).toMatchObject({ status: 200, body: "ok\n" });
});

test(
  "the page is not ready while Temporal is away, lives on, and is ready again when it is back",
  { tags: "slow" },
  async () => {
    const gateway = await openGateway(inject("temporalAddress"));
    const client = await InterlockClient.connect({ connection: { address: gateway.address } });
    const page = await servePage({ ...PAGE, client });
    onTestFinished(async () => {
      await page.close();
      await client.close();
      gateway.close();
    });
    const headers = { Host: `127.0.0.1:${page.port}` };
    const ask = () => sendRaw(page.port, { path: "/readyz", headers });
    let ready = await ask();
    const isReady = async () => (ready = await ask()).status === 200;
    expect(ready).toMatchObject({ status: 200, body: "ok\n" });
    gateway.close();
    await eventually(async () => !(await isReady()));
    expect(ready).toMatchObject({ status: 503, body: "Temporal does not answer.\n" });
    expect((await sendRaw(page.port, { path: "/healthz", headers })).status).toBe(200);
    await gateway.reopen();
    await eventually(isReady);
  },
);

test("no path of a request leads into the file system, and half a request does not hold the page up", async () => {
  const bench = await openBench([]);
  await writeTree(bench.dir, {
    "page/index.html": "<p>the page</p>",
    "page/page.js": "1",
    "page/.env": "SECRET",
    "secret.txt": "SECRET",
  });
  const page = await servePage({ ...PAGE, client: bench.client, assetsDir: `${bench.dir}/page` });
  onTestFinished(() => page.close());
  const headers = { Host: `127.0.0.1:${page.port}` };
  const get = (path: string) => sendRaw(page.port, { path, headers });
  expect(await get("/")).toMatchObject({
    status: 200,
    body: "<p>the page</p>",
    headers: { "content-type": "text/html; charset=utf-8" },
  });
  const script = await get("/page.js?v=1");
  expect(script).toMatchObject({ status: 200, body: "1" });
  const again = { path: "/page.js", headers: { ...headers, "If-None-Match": script.headers.etag ?? "" } };
  expect(await sendRaw(page.port, again)).toMatchObject({ status: 304, body: "" });
  expect(await sendRaw(page.port, { method: "HEAD", path: "/", headers })).toMatchObject({
    status: 200,
    body: "",
  });
  for (const path of [
    "/../secret.txt",
    "/..%2fsecret.txt",
    "/%2e%2e/secret.txt",
    "/..\\secret.txt",
    "/..%5csecret.txt",
    "/./page.js",
    "/page.js/",
    "/page.js%00.html",
    "/PAGE.JS",
    "/.env",
    "/%2eenv",
    "/index.html/../page.js",
    "/constructor",
    "/__proto__",
    "/api/../page.js",
    "/healthz/../page.js",
  ]) {
    const { status, body } = await get(path);
    expect([path, status]).toEqual([path, expect.toBeOneOf([401, 404])]);
    expect(body).not.toContain("SECRET");
  }
  const half = connect(page.port, "127.0.0.1");
  half.write("GET / HTTP/1.1\r\nHost: ");
  const smuggled = connect(page.port, "127.0.0.1");
  smuggled.end(
    `POST /api/run/pause HTTP/1.1\r\nHost: 127.0.0.1:${page.port}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
  );
  expect(await text(smuggled)).toMatch(/^HTTP\/1\.1 400 /);
  const long = connect(page.port, "127.0.0.1");
  // Not much longer: what stays unread is answered with a reset.
  long.end(`GET / HTTP/1.1\r\nX: ${"x".repeat(17 * 1024)}\r\n\r\n`);
  expect(await text(long)).toMatch(/^HTTP\/1\.1 431 /);
  expect(await get("/")).toMatchObject({ status: 200 });
  half.destroy();
});

test("the page listens nowhere that its link does not lead to, and not everywhere for an empty word", async () => {
  const shell = shellOf(await openBench([]));
  for (const host of ["", " ", "::1", "[::1]", "localhost", "127.0.0.1:80"]) {
    const { code, stdout, stderr } = await shell.run(["ui", "--no-open", "--port", "0", "--host", host]);
    expect([host, code, stdout]).toEqual([host, 2, ""]);
    const refused = host === "" ? "--host was given an empty value" : "--host takes an IPv4 address";
    expect(stderr).toContain(refused);
  }
  // No machine has this address (RFC 5737).
  const nowhere = await shell.run(["ui", "--no-open", "--port", "0", "--host", "192.0.2.1"]);
  expect(nowhere).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^Port 0 of 192\.0\.2\.1 cannot be listened on \(EADDRNOTAVAIL\): this machine has no such address/,
    ),
  });
});
