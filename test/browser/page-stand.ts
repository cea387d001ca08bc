import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { inject } from "vitest";
import type { StartRun } from "../../src/client/client.js";
import { type Place, openPlace } from "../fakes/place.js";
import { writeTree } from "../integration/harness.js";
import { MAIN } from "../integration/shell.js";
import { valueOf } from "../fakes/run-world.js";
import { launchChromium } from "./chromium.js";
import { type Mood, fieldModel, fieldNotes } from "./field-notes.js";

/** A store with a worker and the page, each a process of the command line, on the suite's real server; and a Chromium. */
export interface PageStand extends Place {
  readonly mood: Mood;
  readonly packageId: string;
  readonly browser: Browser;
  /** What the page's address begins with. */
  readonly origin: string;
  /** A page in a browser of its own that has opened the link. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>;
  /** The same of another process that serves the page, with other variables: `undefined` takes one away. */
  openElsewhere(variables: Readonly<Record<string, string | undefined>>, path: string): Promise<Page>;
  start(request?: Partial<StartRun>): Promise<string>;
  /** Kills the worker as a power cut does. */
  killWorker(): Promise<void>;
  startWorker(): Promise<void>;
}

/** Against a hang only: on a busy machine a page takes its time. */
export const PATIENCE_MS = 120_000;

/** `more`: what is set for all processes beside the usual. */
export async function openPageStand(more: Readonly<Record<string, string>> = {}): Promise<PageStand> {
  const mood: Mood = {
    refusesKey: false,
    beforeDraftEnds: undefined,
    beforeQuestionEnds: undefined,
    reviews: 0,
  };
  const variables = { INTERLOCK_MODEL_STREAM: "true", INTERLOCK_CACHE: inject("cacheDir"), ...more };
  const place = await openPlace(inject("temporalAddress"), fieldModel(mood), variables);
  const packageDir = join(place.dir, "field-notes");
  await writeTree(packageDir, fieldNotes());
  const { packageId } = valueOf(await place.store.packages.install(packageDir));
  valueOf(await place.store.roots.add(place.projectRoot, "write"));
  const browser = await launchChromium();
  let worker = await startCommand(place, ["worker", "--quiet"], /^Worker polls/);
  const servers: ChildProcess[] = [];
  const serve = async (environment: NodeJS.ProcessEnv) => {
    let link = "";
    const ready = /\/open\?token=/;
    const there = { environment, dir: place.dir };
    const ui = await startCommand(there, ["ui", "--port", "0", "--no-open"], ready, (line) => {
      link = /http:\S+/.exec(line)?.[0] ?? link;
    });
    servers.push(ui);
    return { origin: new URL(link).origin, session: await sessionOf(browser, link) };
  };
  const own = await serve(place.environment);
  const openIn = async (
    { origin, session }: Awaited<ReturnType<typeof serve>>,
    path: string,
    options: BrowserContextOptions,
  ): Promise<Page> => {
    const context = await browser.newContext({ ...options, storageState: session });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`${origin}/${path}`);
    return page;
  };

  return {
    ...place,
    mood,
    packageId,
    browser,
    origin: own.origin,
    open: (path, options = {}) => openIn(own, path, options),
    openElsewhere: async (others, path) => openIn(await serve({ ...place.environment, ...others }), path, {}),
    async start(request = {}) {
      const { projectRoot } = place;
      const run = await place.client.start({ projectRoot, packageId, runId: randomUUID(), ...request });
      return run.runId;
    },
    async killWorker() {
      await ended(worker, "SIGKILL");
    },
    async startWorker() {
      worker = await startCommand(place, ["worker", "--quiet"], /^Worker polls/);
    },
    async close() {
      await browser.close();
      for (const ui of servers) await ended(ui, "SIGTERM");
      await ended(worker, "SIGKILL");
      await place.close();
    },
  };
}

/** The session that the link gives. */
async function sessionOf(browser: Browser, link: string) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page.waitForURL("**/#/runs"); // the page has taken what the link says
  const session = await context.storageState();
  await context.close();
  return session;
}

/** A command in a process of its own, once it has said that. */
async function startCommand(
  { environment, dir }: { readonly environment: NodeJS.ProcessEnv; readonly dir: string },
  args: readonly string[],
  ready: RegExp,
  onLine: (line: string) => void = () => undefined,
): Promise<ChildProcess> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir, ...environment };
  const child = spawn(process.execPath, [MAIN, ...args], {
    env,
    cwd: dir,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        said.push(line);
        onLine(line);
        if (ready.test(line)) resolve();
      });
    }
    child.once("exit", () => reject(new Error(`interlock ${args.join(" ")} has ended:\n${said.join("\n")}`)));
  });
  return child;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "exit");
}
