import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openBrowsedServer } from "../embedded/browsed-server.js";
import { launchChromium } from "./chromium.js";

/*
 * What pages in a real Chromium reach of the embedded server. Protections that a browser may or may not have (private
 * network access) are switched off: it is the server that must hold.
 */

const RUN = "run-of-the-user";
const EVIL = "evil.test";

let browsed: Awaited<ReturnType<typeof openBrowsedServer>>;
let browser: Browser;
let foreign: Server;

beforeAll(async () => {
  browsed = await openBrowsedServer(RUN);
  foreign = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>another page</title><body></body>");
  });
  foreign.listen(0, "127.0.0.1");
  await once(foreign, "listening");
  browser = await launchChromium([EVIL]);
});

afterAll(async () => {
  await browser?.close();
  foreign?.closeAllConnections();
  foreign?.close();
  await browsed?.close();
});

async function newPage(): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  return context.newPage();
}

async function foreignPage(host: string): Promise<Page> {
  const page = await newPage();
  await page.goto(`http://${host}:${(foreign.address() as AddressInfo).port}/`);
  return page;
}

/** What a script on the page gets to see of an answer. */
function fetchFrom(page: Page, url: string, init: RequestInit = {}): Promise<string> {
  return page.evaluate(
    async ([address, options]) => {
      try {
        const response = await fetch(address, { credentials: "include", ...options });
        return `${response.type} ${response.status} ${await response.text()}`;
      } catch (error) {
        return String(error);
      }
    },
    [url, init] as const,
  );
}

const START: RequestInit = {
  method: "POST",
  headers: { "Content-Type": "text/plain" },
  body: JSON.stringify({ workflowType: { name: "graphRun" }, taskQueue: { name: "interlock" } }),
};

async function expectNothingStarted(): Promise<void> {
  const handle = browsed.client.workflow.getHandle("stolen");
  await expect(handle.describe()).rejects.toThrow(/not found/i);
}

test("the user sees the list of workflows, and follows the link of one", async () => {
  const page = await newPage();
  await page.goto(`${browsed.server.uiUrl}/namespaces/default/workflows`);
  await page.getByText(RUN).first().waitFor();
  const { runId } = await browsed.client.workflow.getHandle(RUN).describe();
  await page.goto(`${browsed.server.uiUrl}/namespaces/default/workflows/${RUN}/${runId}/timeline`);
  await page.getByText(RUN).first().waitFor();
  await page.getByText("nobody").first().waitFor(); // the task queue, from the description of the run
  expect(await page.getByText(RUN).first().isVisible()).toBe(true);
});

test("the user can change something in the Web UI: what it sends for that is let in", async () => {
  const id = "run-to-terminate";
  const { client } = browsed;
  await client.workflow.start("anything", { taskQueue: "nobody", workflowId: id });
  const page = await newPage();
  await page.goto(`${browsed.server.uiUrl}/namespaces/default/workflows`);
  const cookies = await page.context().cookies();
  const token = cookies.find(({ name }) => name === "_csrf")?.value ?? "";
  const answer = await fetchFrom(page, `/api/v1/namespaces/default/workflows/${id}/terminate`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-TOKEN": token },
    body: JSON.stringify({ reason: "by the user" }),
  });
  expect(answer).toMatch(/^basic 200 /);
  expect((await client.workflow.getHandle(id).describe()).status.name).toBe("TERMINATED");
});

test("the user comes by a link on another page", async () => {
  const page = await foreignPage(EVIL);
  const url = JSON.stringify(`${browsed.server.uiUrl}/namespaces/default/workflows`);
  await page.evaluate(`document.body.innerHTML = '<a href=${url}>runs</a>'`);
  await page.getByText("runs").click();
  await page.getByText(RUN).first().waitFor();
  expect(page.url()).toContain(browsed.server.uiUrl);
});

test.each(["127.0.0.1", EVIL])("a page of another origin (%s) reads and starts nothing", async (host) => {
  const page = await foreignPage(host);
  const runs = `${browsed.server.uiUrl}/api/v1/namespaces/default/workflows`;
  for (const mode of ["cors", "no-cors"] as const) {
    const read = await fetchFrom(page, runs, { mode });
    expect(read).not.toContain(RUN);
    await fetchFrom(page, `${runs}/stolen`, { ...START, mode });
  }
  const preflighted = { ...START, headers: { "Content-Type": "application/json", "X-CSRF-TOKEN": "x" } };
  expect(await fetchFrom(page, `${runs}/stolen`, preflighted)).toContain("Failed to fetch");
  for (const { port } of await browsed.listeners()) {
    const workflows = `http://127.0.0.1:${port}/api/v1/namespaces/default/workflows`;
    await fetchFrom(page, `${workflows}/stolen`, { ...START, mode: "no-cors" });
    for (const url of [workflows, `http://127.0.0.1:${port}/metrics`]) {
      expect(await fetchFrom(page, url)).toContain("Failed to fetch");
    }
  }
  expect(await framed(page, `${browsed.server.uiUrl}/namespaces/default/workflows`)).toBe(false);
  await expectNothingStarted();
});

test("a page whose name was rebound to this machine reads and starts nothing", async () => {
  const page = await newPage();
  const { port } = new URL(browsed.server.uiUrl);
  const response = await page.goto(`http://${EVIL}:${port}/namespaces/default/workflows`);
  expect(response?.status()).toBe(403);
  expect(await page.content()).not.toContain(RUN);
  expect(await page.context().cookies()).toEqual([]);
  // From here, what it asks for is of its own origin: nothing but the name gives it away.
  expect(await fetchFrom(page, "/api/v1/namespaces/default/workflows")).toMatch(/^basic 403 /);
  expect(await fetchFrom(page, "/api/v1/namespaces/default/workflows/stolen", START)).toMatch(/^basic 403 /);
  await expectNothingStarted();
});

/** Whether a page can show the address in a frame of its own. */
async function framed(page: Page, url: string): Promise<boolean> {
  await page.evaluate(`new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.src = ${JSON.stringify(url)};
    frame.addEventListener("load", resolve);
    frame.addEventListener("error", resolve);
    document.body.append(frame);
  })`);
  const [frame] = page.frames().slice(1);
  return (await frame?.content())?.includes("svelte") ?? false;
}
