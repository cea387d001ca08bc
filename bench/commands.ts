import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bytesBeyondTemporal } from "./installed-size.js";
import { residentBytes } from "./resident-memory.js";
import { environment } from "./stage.js";
import { type Spread, spreadOf } from "./statistics.js";
import { withTemporaryFolder } from "./temporary-folder.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const MAIN = join(ROOT, "dist/cli/main.js");
const EXAMPLE = join(ROOT, "examples/create-story");
/** So long does a worker rest until what it needed to load is no longer in its heaps. */
const IDLE_MS = 60_000;
const POLLS = /Worker polls/;

/** What commands take, as whole processes. */
export interface StartFigures {
  readonly helpMs: Spread;
  /** `interlock runs` beside a server that runs. */
  readonly runsMs: Spread;
  /** From `interlock run` to the first request at the model's endpoint, in milliseconds: in a store whose server and worker run. */
  readonly warmMs: Spread;
  /** The same in a new store, whose server and worker the command starts. */
  readonly coldMs: Spread;
}

export interface SizeFigures {
  readonly installedBytes: number;
  /** Memory of a worker without runs; absent where the system does not tell it by /proc. */
  readonly idleWorkerMb?: number;
}

/** Whole commands and first requests, one after the other. */
export async function measureStart(
  { address, tries }: { readonly address: string; readonly tries: number },
  note: (line: string) => void,
): Promise<StartFigures> {
  return withTemporaryFolder(async (dir) => {
    const model = await firstRequests();
    try {
      note("commands from a cold start");
      const beside = { ...environment(), INTERLOCK_STORE: join(dir, "listed"), TEMPORAL_ADDRESS: address };
      const helpMs = await commandMs(["--help"], environment(), tries);
      const runsMs = await commandMs(["runs"], beside, tries);
      const started = async (nth: number, store: string): Promise<number> => {
        const project = join(dir, `project-${nth}-of-${store}`);
        await cp(join(EXAMPLE, "project"), project, { recursive: true });
        const command = ["run", join(EXAMPLE, "package"), "--project", project];
        return model.afterStartOf(() => start(command, inStore(dir, store, model.baseUrl)));
      };
      note("first requests of runs, each in a new store");
      const coldMs = await repeated(tries, (nth) => started(nth, `cold-${nth}`));
      note("first requests of runs beside a worker");
      const dev = start(["dev", "--no-page"], inStore(dir, "warm", model.baseUrl));
      try {
        await said(dev, POLLS);
        const warmMs = await repeated(tries, (nth) => started(nth, "warm"));
        return { helpMs, runsMs, warmMs, coldMs };
      } finally {
        await ended(dev);
      }
    } finally {
      model.close();
    }
  });
}

/** What is installed, and what a worker takes that does nothing. */
export async function measureSize(address: string, note: (line: string) => void): Promise<SizeFigures> {
  note("what is installed, and an idle worker");
  const installedBytes = await bytesBeyondTemporal(ROOT);
  return withTemporaryFolder(async (dir) => {
    const worker = start(["worker"], { ...inStore(dir, "idle", ""), TEMPORAL_ADDRESS: address });
    try {
      await said(worker, POLLS);
      await pause(IDLE_MS);
      const bytes = residentBytes(worker.pid);
      return bytes === undefined ? { installedBytes } : { installedBytes, idleWorkerMb: bytes / 1e6 };
    } finally {
      await ended(worker);
    }
  });
}

function inStore(dir: string, store: string, baseUrl: string): Record<string, string> {
  return {
    ...environment(),
    INTERLOCK_STORE: join(dir, store),
    INTERLOCK_MODEL: "scripted",
    OPENAI_BASE_URL: baseUrl,
  };
}

async function repeated(times: number, action: (nth: number) => Promise<number>): Promise<Spread> {
  const taken: number[] = [];
  for (let nth = 0; nth < times; nth += 1) taken.push(await action(nth));
  return spreadOf(taken);
}

function commandMs(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  tries: number,
): Promise<Spread> {
  return repeated(tries, async () => {
    const startedAt = performance.now();
    await promisify(execFile)(process.execPath, [MAIN, ...args], { env });
    return performance.now() - startedAt;
  });
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
}

/** Waits until a command has said something like it. Rejects where it ends before. */
function said(command: ChildProcess, words: RegExp): Promise<void> {
  let text = "";
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      text += String(chunk);
      if (words.test(text)) resolve();
    };
    command.stdout?.on("data", hear);
    command.stderr?.on("data", hear);
    command.once("close", () => reject(new Error(`${command.spawnargs.join(" ")} ended: ${text}`)));
  });
}

/** Ends it in order, and the server with its last user. */
async function ended(command: ChildProcess): Promise<void> {
  if (command.exitCode !== null || command.signalCode !== null) return;
  const closed = once(command, "close");
  command.kill("SIGTERM");
  await closed;
}

/** An endpoint whose model answers at once that it has a question, so that its run waits and the command ends. */
async function firstRequests() {
  let asked: () => void = () => undefined;
  const server = createServer((request, response) => {
    asked();
    request.resume();
    const message = { role: "assistant", content: "What is it about?" };
    const choices = [{ index: 0, finish_reason: "stop", message }];
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ id: "1", object: "chat.completion", created: 0, model: "scripted", choices }),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    /** Milliseconds from the start of a command to its first request; waits until the command has ended. */
    async afterStartOf(begin: () => ChildProcess): Promise<number> {
      const first = new Promise<number>((resolve) => (asked = () => resolve(performance.now())));
      const startedAt = performance.now();
      const command = begin();
      const closed = once(command, "close");
      const over = closed.then(() => undefined);
      const askedAt = await Promise.race([first, over]);
      await closed;
      if (askedAt === undefined) throw new Error("interlock run ended without a request to the model.");
      return askedAt - startedAt;
    },
    close: () => server.close(),
  };
}
