import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { InterlockClient } from "../../../src/client/client.js";
import { LIVE_PATH, MAX_STREAMS, ROUTES } from "../../../src/page/api.js";
import type { Fault } from "../../../src/core/errors.js";
import type { StoreReader } from "../../../src/contract/reads.js";
import { type PageOptions, servePage } from "../../../src/page/server/serve-page.js";
import { eventually } from "../../fakes/eventually.js";
import { PageBrowser, sendRaw } from "../../fakes/page-browser.js";

/** A page that serves no runs but those of `deps`, with a browser that has opened it. */
async function openedPage(deps: Partial<Pick<PageOptions, "client" | "readerOf">> = {}) {
  const links: string[] = [];
  const failures: unknown[] = [];
  const page = await servePage({
    client: {} as InterlockClient, // nothing is asked of it
    readerOf: () => {
      throw new Error("Nobody reads.");
    },
    mayLive: () => true,
    version: "",
    webUi: undefined,
    startWorker: "interlock worker",
    by: "",
    port: 0,
    onLink: (url) => links.push(url),
    onFailure: (error) => failures.push(error),
    ...deps,
  });
  onTestFinished(() => page.close());
  return { page, failures, links, browser: await PageBrowser.open(links[0] ?? "") };
}

test("a browser that goes away in the middle of what it sends is no failure of the page's server", async () => {
  const { page, failures, browser } = await openedPage();
  const headers = {
    ...browser.headers(),
    Origin: `http://${browser.own}`,
    "Content-Type": "application/json",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  for (const length of ["Content-Length: 9", "Transfer-Encoding: chunked"]) {
    const gone = connect(page.port, "127.0.0.1");
    gone
      .resume()
      .end(
        `POST ${browser.at(ROUTES.pause.path)} HTTP/1.1\r\n${[...lines, length].join("\r\n")}\r\n\r\n9\r\n{`,
      );
    await once(gone, "close");
  }
  expect((await sendRaw(page.port, { path: "/healthz", headers })).status).toBe(200);
  expect(failures).toEqual([]);
});

/** What a page has of one run, whose store has but this to say. */
function ofOneRun(identify: () => Promise<unknown>, error: Fault) {
  const handle = { identify, taskQueue: () => Promise.resolve("queue") };
  const client = { handle: () => handle, onQueue: () => client } as unknown as InterlockClient; // the little that is asked of it
  const ask = () => Promise.resolve({ ok: false as const, error });
  return { client, readerOf: () => ({ ask }) as unknown as StoreReader };
}

/** A stream as no browser asks for it: with a body that never comes. */
function watchRaw(browser: PageBrowser): Socket {
  const lines = Object.entries(browser.headers()).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(browser.port, "127.0.0.1");
  socket.write(
    `GET ${browser.at(LIVE_PATH)}?run=a HTTP/1.1\r\n${lines.join("\r\n")}\r\nContent-Length: 5\r\n\r\n`,
  );
  return socket;
}

const IDS = { runId: "a", workflowId: "a" };

test("a page that is loaded again and again, while Temporal is asked for its run, watches it all the same", async () => {
  const asked: (() => void)[] = [];
  const identify = () => new Promise((resolve) => asked.push(() => resolve(IDS)));
  const { browser, page, failures } = await openedPage(
    ofOneRun(identify, { code: "E_INTERNAL", message: "Nothing to be read." }),
  );
  for (let times = 1; times <= MAX_STREAMS; times += 1) {
    const reloaded = watchRaw(browser);
    await eventually(() => asked.length === times);
    reloaded.destroy();
  }
  await sendRaw(page.port, { path: "/healthz", headers: browser.headers() }); // the server has seen them go
  for (const answer of asked) answer();
  const watching = await browser.watch("a");
  expect(watching.status).toBe(200);
  await watching.ended;
  expect(watching.of("fault")).toHaveLength(1);
  expect(failures.map(String)).toEqual([expect.stringContaining("Nothing to be read.")]); // of the one that was not left
});

test("a browser that goes away while a stream says why it ends is no failure of the page's server", async () => {
  const long = "y".repeat(16 * 1024 * 1024); // more than goes into a socket
  const { browser, page, failures } = await openedPage(
    ofOneRun(() => Promise.resolve(IDS), { code: "ENOENT", message: long }),
  );
  const reader = watchRaw(browser);
  let said = "";
  reader.on("data", (data) => (said += String(data)));
  await eventually(() => said.includes("event: fault"));
  reader.destroy();
  await sendRaw(page.port, { path: "/healthz", headers: browser.headers() }); // an error that nobody takes ends the process
  expect(failures).toEqual([]);
});

test("a proxy before the page is told to keep nothing of a stream back: nginx does so until it is pages full", async () => {
  const { browser } = await openedPage(
    ofOneRun(() => Promise.resolve(IDS), { code: "ENOENT", message: "Nothing to be read." }),
  );
  expect((await browser.watch("a")).headers).toMatchObject({ "x-accel-buffering": "no" });
});

test("what a browser watches ends when another one takes its place", async () => {
  const { links, browser } = await openedPage({
    ...ofOneRun(() => Promise.resolve(IDS), { code: "E_INTERNAL", message: "" }),
    readerOf: () => ({ ask: () => new Promise(() => undefined) }) as unknown as StoreReader, // nothing happens
  });
  const watching = await browser.watch("a");
  expect(watching.status).toBe(200);
  for (let others = 1; others <= 16; others += 1) await PageBrowser.open(links.at(-1) ?? "");
  await watching.ended;
  expect((await browser.send("session", {})).status).toBe(401);
});

test("connections that send half a request, and those that send none, keep nobody out", async () => {
  const { page } = await openedPage();
  const waiting = Array.from({ length: 250 }, (_, index) => {
    const held = connect(page.port, "127.0.0.1").on("error", () => undefined);
    if (index % 2 === 0) held.write("GET / HTTP/1.1\r\nHost: ");
    return held;
  });
  onTestFinished(() => {
    for (const held of waiting) held.destroy();
  });
  await Promise.all(waiting.map((held) => once(held, "connect")));
  const next = connect(page.port, "127.0.0.1");
  next.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${page.port}\r\nConnection: close\r\n\r\n`);
  expect(await text(next)).toMatch(/^HTTP\/1\.1 200 /);
});

test("requests whose bodies never end keep nobody out", async () => {
  const { page, browser } = await openedPage();
  const headers = {
    ...browser.headers(),
    Origin: `http://${browser.own}`,
    "Content-Type": "application/json",
    "Content-Length": "100",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const waiting: Socket[] = [];
  onTestFinished(() => {
    for (const held of waiting) held.destroy();
  });
  for (let times = 1; times <= 5; times += 1) {
    const begun = Array.from({ length: 50 }, () => {
      const held = connect(page.port, "127.0.0.1").on("error", () => undefined);
      held.write(`POST ${browser.at(ROUTES.pause.path)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n{`);
      return held;
    });
    waiting.push(...begun);
    await Promise.all(begun.map((held) => once(held, "connect")));
    const next = { ...browser.headers(), Connection: "close" };
    expect((await sendRaw(page.port, { path: "/healthz", headers: next })).status).toBe(200);
  }
});

test.each([
  ["/healthz", "POST", "GET, HEAD"],
  [ROUTES.run.path, "PUT", "GET, HEAD"],
  [ROUTES.pause.path, "GET", "POST"],
  [LIVE_PATH, "HEAD", "GET"],
])("of %s a request by %s is told what it takes", async (path, method, allowed) => {
  const { page, browser } = await openedPage();
  const headers = { ...browser.headers(), Origin: `http://${browser.own}` };
  const refused = await sendRaw(page.port, { path: browser.at(path), method, headers });
  expect([refused.status, refused.headers.allow]).toEqual([405, allowed]);
});

test("what somebody sends while Temporal does not answer is not said to be sent again by itself, as what is asked is", async () => {
  const away = Object.assign(new Error("14 UNAVAILABLE: gone"), { code: 14, details: "gone", metadata: {} }); // as gRPC throws it
  const { browser } = await openedPage(
    ofOneRun(() => Promise.reject(away), { code: "E_INTERNAL", message: "Nothing to be read." }),
  );
  const said = async (name: "run" | "pause") =>
    JSON.parse((await browser.send(name, { run: "a" })).body) as unknown;
  const refused = (message: string) => ({ error: { code: "NO_TEMPORAL", message } });
  expect(await said("run")).toEqual(refused("Temporal does not answer. It is asked again."));
  expect(await said("pause")).toEqual(
    refused(
      "Temporal does not answer. What you have sent may not have been taken: send it again once it does.",
    ),
  );
});
