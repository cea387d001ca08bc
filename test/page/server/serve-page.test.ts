import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { InterlockClient } from "../../../src/client/client.js";
import { ROUTES } from "../../../src/page/api.js";
import { servePage } from "../../../src/page/server/serve-page.js";
import { PageBrowser, sendRaw } from "../../fakes/page-browser.js";

test("a browser that goes away in the middle of what it sends is no failure of the page's server", async () => {
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
    by: "",
    port: 0,
    onLink: (url) => links.push(url),
    onFailure: (error) => failures.push(error),
  });
  onTestFinished(() => page.close());
  const browser = await PageBrowser.open(links[0] ?? "");
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
      .end(`POST ${ROUTES.pause.path} HTTP/1.1\r\n${[...lines, length].join("\r\n")}\r\n\r\n9\r\n{`);
    await once(gone, "close");
  }
  expect((await sendRaw(page.port, { path: "/healthz", headers })).status).toBe(200);
  expect(failures).toEqual([]);
});
