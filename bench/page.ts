import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { loadavg } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { CHROMIUM, launchChromium } from "../test/browser/chromium.js";
import { cpuMilliseconds } from "./cpu-time.js";
import { plantRuns } from "./plant-runs.js";
import { LONG_NODES, MANY_NODES, type Stage, type StageOptions, openStage } from "./stage.js";
import { spreadOf } from "./statistics.js";
import { WrongUsage, commandLine, positionals, wordsAmong } from "./usage.js";

/**
 * What the page costs while it is looked at, and how quickly it shows something.
 *
 * `live`: runs that go on with a model of 2 s; in turn nobody looks, and Chromium shows the list and one of the runs while /metrics is
 * scraped. `paint`: opens a list of 2,000 runs and a run of 2,001 calls, made by a model that answers at once.
 *
 * Usage: npm run bench:page -- [live] [paint]
 */

const RUNS = 50;
const MODEL_MS = 2_000;
/** Of nobody, and of somebody who looks, one after the other. */
const ROUNDS = 2;
const ROUND_MS = 30_000;
const SETTLE_MS = 5_000;
const SCRAPE_MS = 5_000;
const LISTED = 2_000;
const OPENINGS = 5;
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

const MEASURES = { live: measureLive, paint: measurePaint };
const PARTS = ["live", "paint"] as const;
const USAGE =
  "Usage: npm run bench:page -- [live] [paint]    (both; with the Chromium at /usr/bin/chromium or CHROMIUM_PATH)";
const asked = commandLine(USAGE, (args) => {
  const parts = wordsAmong(positionals(args), PARTS);
  if (existsSync(CHROMIUM)) return parts;
  throw new WrongUsage(`There is no Chromium at ${CHROMIUM}. Install it there, or set CHROMIUM_PATH.`);
});

/** What ends what was started, the newest last. */
const closing: (() => Promise<unknown>)[] = [];
let interruption: Promise<void> | undefined;

async function endAll(): Promise<void> {
  for (let end = closing.pop(); end !== undefined; end = closing.pop()) await end();
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    process.stderr.write(`${signal}: ending what was started.\n`);
    interruption ??= endAll();
    void interruption.finally(() => process.exit(1));
  });
}
try {
  for (const part of asked.length === 0 ? PARTS : asked) await MEASURES[part]();
} catch (error) {
  if (interruption === undefined) throw error;
  await interruption; // what is measured fails by that, and is not to end the process before
}

/** A stage that is closed also when the program is interrupted, even while it is opened. */
async function stageToClose(options: StageOptions): Promise<Stage> {
  const opening = openStage(options);
  closing.push(async () => (await opening).close());
  return opening;
}

/** CPU seconds of what takes part; `turns`: what the model has answered meanwhile. */
interface Share {
  readonly chromium: number;
  readonly page: number;
  readonly worker: number;
  readonly server: number;
  readonly turns: number;
}

async function measureLive(): Promise<void> {
  const metrics = `127.0.0.1:${await freePort()}`;
  const stage = await stageToClose({
    directory: undefined,
    cpuProfile: undefined,
    model: { afterMs: MODEL_MS },
    metrics,
  });
  try {
    const projects = await stage.makeProjects(RUNS);
    const runs = await Promise.all(projects.map((project) => stage.begin({ nodes: LONG_NODES, project })));
    const shown = runs[0]?.runId ?? "";
    while ((await stage.answered()) < 2 * RUNS) await sleep(500);
    const loads = [loadavg()[0]];
    const alone: Share[] = [];
    const watched: Share[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      alone.push(await shareOf(stage, undefined));
      watched.push(await withPage(stage, (looked) => watch(looked, shown, stage, metrics)));
      loads.push(loadavg()[0]);
    }
    print("nobody looks", alone);
    print("the list and a run are shown", watched);
    process.stdout.write(`load: ${loads.map((load) => load?.toFixed(1)).join(", ")}\n`);
  } finally {
    await endAll();
  }
}

async function watch(looked: Looked, run: string, stage: Stage, metrics: string): Promise<Share> {
  const list = await looked.open("");
  await list.locator(".run-row").first().waitFor();
  const page = await looked.open(`#/runs/${run}`);
  await page.locator(".graph .node.current").waitFor();
  await sleep(SETTLE_MS);
  const over = new AbortController();
  const scraping = scrape(`http://${metrics}/metrics`, over.signal);
  const share = await shareOf(stage, looked);
  over.abort();
  const { scrapes, bytes } = await scraping;
  process.stdout.write(`scraped ${scrapes} times, the last of ${bytes} bytes\n`);
  return share;
}

async function shareOf(stage: Stage, looked: Looked | undefined): Promise<Share> {
  const look = async (): Promise<Share> => ({
    chromium: (await looked?.chromiumSeconds()) ?? 0,
    page: looked === undefined ? 0 : secondsOf(looked.pid),
    worker: secondsOf(stage.pids.interlock),
    server: secondsOf(stage.pids.server),
    turns: await stage.answered(),
  });
  const before = await look();
  await sleep(ROUND_MS);
  const after = await look();
  return differenceOf(after, before);
}

function differenceOf(one: Share, other: Share): Share {
  return {
    chromium: one.chromium - other.chromium,
    page: one.page - other.page,
    worker: one.worker - other.worker,
    server: one.server - other.server,
    turns: one.turns - other.turns,
  };
}

function print(what: string, shares: readonly Share[]): void {
  const sum = (of: (share: Share) => number): number => shares.reduce((all, share) => all + of(share), 0);
  const turns = sum((share) => share.turns);
  const words = (["chromium", "page", "worker", "server"] as const).map((who) => {
    const seconds = sum((share) => share[who]);
    return `${who} ${seconds.toFixed(1)} s (${((seconds * 1_000) / turns).toFixed(1)} ms a turn)`;
  });
  process.stdout.write(
    `${what}, ${(ROUNDS * ROUND_MS) / 1_000} s, ${turns} turns: CPU of ${words.join(", ")}\n`,
  );
}

async function scrape(url: string, signal: AbortSignal): Promise<{ scrapes: number; bytes: number }> {
  let scrapes = 0;
  let bytes = 0;
  while (!signal.aborted) {
    const answer = await fetch(url);
    bytes = (await answer.text()).length;
    if (!answer.ok) throw new Error(`${url} answers ${answer.status}.`);
    scrapes += 1;
    await sleep(SCRAPE_MS, undefined, { signal }).catch(() => undefined);
  }
  return { scrapes, bytes };
}

async function measurePaint(): Promise<void> {
  const stage = await stageToClose({ directory: undefined, cpuProfile: undefined });
  try {
    const [project = ""] = await stage.makeProjects(1);
    const run = await stage.begin({ nodes: MANY_NODES, project, steps: "nodes" });
    await run.result();
    await plantRuns(stage.address, LISTED);
    await withPage(stage, async (looked) => {
      await openings(`a list of ${LISTED} runs`, looked, "", ".run-row");
      await openings("a run of 2,001 calls", looked, `#/runs/${run.runId}`, ".event-row");
    });
    process.stdout.write(`load: ${loadavg()[0]?.toFixed(1)}\n`);
  } finally {
    await endAll();
  }
}

/** Opens it some times, each in a browser that has seen nothing of it. */
async function openings(what: string, looked: Looked, path: string, first: string): Promise<void> {
  const times: { painted: number; shown: number; chromium: number; page: number }[] = [];
  for (let opening = 0; opening < OPENINGS; opening += 1) {
    const [browserBefore, serverBefore] = [await looked.chromiumSeconds(), secondsOf(looked.pid)];
    const page = await looked.open(path);
    await page.locator(first).first().waitFor();
    const shown = Number(await page.evaluate("performance.now()"));
    const painted = Number(
      await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"),
    );
    const chromium = ((await looked.chromiumSeconds()) - browserBefore) * 1_000;
    times.push({ painted, shown, chromium, page: (secondsOf(looked.pid) - serverBefore) * 1_000 });
    await page.context().close();
  }
  const median = (of: keyof (typeof times)[number]): string =>
    spreadOf(times.map((time) => time[of])).median.toFixed(0);
  process.stdout.write(
    `${what}: first paint ${median("painted")} ms, its rows ${median("shown")} ms, CPU of Chromium ${median("chromium")} ms and of the page's server ${median("page")} ms (medians of ${OPENINGS})\n`,
  );
}

/** A Chromium, and the page's server in a process of its own. */
interface Looked {
  readonly pid: number;
  chromiumSeconds(): Promise<number>;
  /** In a browser of its own. */
  open(path: string): Promise<Page>;
}

async function withPage<T>(stage: Stage, use: (looked: Looked) => Promise<T>): Promise<T> {
  const ui = spawn(process.execPath, [MAIN, "ui", "--port", "0", "--no-open"], {
    env: {
      PATH: process.env["PATH"], // oxlint-disable-line node/no-process-env -- a measurement's own
      HOME: stage.store.dir,
      INTERLOCK_STORE: stage.store.dir,
      TEMPORAL_ADDRESS: stage.address,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(ui, "exit");
  let browser: Browser | undefined;
  const close = async (): Promise<void> => {
    await browser?.close();
    ui.kill("SIGTERM");
    await ended;
  };
  closing.push(close);
  try {
    const link = await linkOf(ui.stdout);
    const chromium = (browser = await launchChromium([], { handleSIGINT: false, handleSIGTERM: false }));
    const cdp = await chromium.newBrowserCDPSession();
    const opened = await chromium.newContext();
    const first = await opened.newPage();
    await first.goto(link);
    await first.waitForURL("**/#/runs"); // the page has taken what the link says
    const storageState = await opened.storageState();
    await opened.close();
    return await use({
      pid: ui.pid ?? 0,
      async chromiumSeconds() {
        const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
        return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
      },
      async open(path) {
        const context = await chromium.newContext({ viewport: { width: 1_240, height: 800 }, storageState });
        const page = await context.newPage();
        await page.goto(`${new URL(link).origin}/${path}`);
        return page;
      },
    });
  } finally {
    await close();
  }
}

async function linkOf(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const link = /http:\S+\/open\?token=\S+/.exec(line)?.[0];
    if (link !== undefined) return link;
  }
  throw new Error("The page's server has ended.");
}

function secondsOf(pid: number): number {
  return (cpuMilliseconds(pid) ?? Number.NaN) / 1_000;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  server.close();
  await once(server, "close");
  return port;
}
