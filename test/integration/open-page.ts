import { onTestFinished } from "vitest";
import { type PageServer, servePage } from "../../src/page/server/serve-page.js";
import { PageBrowser } from "../fakes/page-browser.js";
import type { Bench } from "./harness.js";

/** The page on a bench, over Temporal alone, and a browser that has opened its link. */
export async function openPage({
  client,
}: Bench): Promise<{ readonly page: PageServer; readonly browser: PageBrowser }> {
  const links: string[] = [];
  const page = await servePage({
    client,
    readerOf: (there) => there.reader(),
    mayLive: () => true,
    version: "test",
    webUi: "http://127.0.0.1:8233",
    startWorker: "interlock worker",
    by: "somebody@page",
    port: 0,
    onLink: (url) => links.push(url),
    onFailure: (error) => process.stderr.write(`${String(error)}\n`),
  });
  onTestFinished(() => page.close());
  return { page, browser: await PageBrowser.open(links[0] ?? "") };
}
