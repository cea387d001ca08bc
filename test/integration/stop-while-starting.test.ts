// @module-tag slow
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { constants } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { isHeld } from "../../src/embedded/server-lock.js";
import { serverFiles } from "../../src/embedded/server-record.js";
import { stopServer } from "../../src/embedded/server-process.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { writeTree } from "./harness.js";
import { MAIN, newShell, type Shell, withModel } from "./shell.js";

/*
 * Ctrl-C, SIGTERM and a terminal that is closed while a command starts: it ends, and leaves no process and no lock behind.
 */

/** It gives a command a terminal, which is gone with it. */
const TERMINAL = "script";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Who hangs up is answered as by a program that does not listen for it. */
function endOf(signal: (typeof SIGNALS)[number], code = 0): Awaited<Started["ended"]> {
  return signal === "SIGHUP" ? { code: null, signal } : { code, signal: null };
}

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

function start(shell: Shell, args: readonly string[], environment: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: shell.dir,
    env: { ...shell.environment, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (existsSync(shell.environment["INTERLOCK_STORE"] ?? "")) await stopServer(filesOf(shell));
  });
  const ended = once(child, "exit").then(([code, signal]) => ({
    code: code as number | null, // what the event says
    signal: signal as NodeJS.Signals | null,
  }));
  return { child, ended };
}

function filesOf(shell: Shell) {
  return serverFiles(shell.environment["INTERLOCK_STORE"] ?? "");
}

/** Processes of this machine whose arguments name a directory. */
async function processesNaming(directory: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "pid=,args="]);
  return stdout.split("\n").filter((line) => line.includes(directory));
}

async function expectNothingLeft(shell: Shell): Promise<void> {
  expect(await processesNaming(shell.dir)).toEqual([]);
  const { log, turn, users, record } = filesOf(shell);
  expect([log, turn, users].filter((file) => existsSync(file) && isHeld(file))).toEqual([]);
  expect(existsSync(record)).toBe(false);
}

/** A Temporal CLI that gets as far as it is told, says so by a file, and hangs there. */
async function hangingCli(shell: Shell, where: string): Promise<{ path: string; reached: string }> {
  const real = await findTemporalCli({ cacheDir: inject("cacheDir"), environment: process.env });
  const path = join(shell.dir, "temporal");
  const reached = join(shell.dir, "reached");
  const script = `#!/bin/sh\ncase "$*" in *${where}*) : > '${reached}'; exec sh -c 'sleep 300; :' "$@";; esac\nexec '${real.path}' "$@"\n`;
  await writeFile(path, script, { mode: 0o755 });
  return { path, reached };
}

describe.each(SIGNALS)("%s", (signal) => {
  test.each([
    ["the CLI is asked for its version", "--version"],
    ["the server starts", "start-dev"],
  ])("while %s", async (_, where) => {
    const shell = await newShell();
    const { path, reached } = await hangingCli(shell, where);
    const { child, ended } = start(shell, ["dev"], { INTERLOCK_TEMPORAL_CLI: path });
    await vi.waitUntil(() => existsSync(reached), 30_000);
    child.kill(signal);
    expect(await ended).toEqual(endOf(signal));
    await expectNothingLeft(shell);
  });

  test("while tests of a package wait for their server, in a sentence", async () => {
    const shell = await newShell();
    expect((await shell.run(["package", "new", "package", "--json"])).code).toBe(0);
    const { path, reached } = await hangingCli(shell, "start-dev");
    const { child, ended } = start(shell, ["package", "test", "package"], { INTERLOCK_TEMPORAL_CLI: path });
    await vi.waitUntil(() => existsSync(reached), 30_000);
    const told = said(child, "Stopped before all tests were run.");
    child.kill(signal);
    await told;
    expect(await ended).toEqual(endOf(signal, 128 + constants.signals[signal]));
    await expectNothingLeft(shell);
  });

  test("while another process has the turn to start the server", async () => {
    const shell = await newShell();
    const { path, reached } = await hangingCli(shell, "start-dev");
    const first = start(shell, ["dev"], { INTERLOCK_TEMPORAL_CLI: path });
    await vi.waitUntil(() => existsSync(reached), 30_000);
    const second = start(shell, ["dev"], { INTERLOCK_TEMPORAL_CLI: path });
    await said(second.child, "waiting");
    second.child.kill(signal);
    expect(await second.ended).toEqual(endOf(signal));
    first.child.kill(signal);
    expect(await first.ended).toEqual(endOf(signal));
    await expectNothingLeft(shell);
  });

  test("while the CLI is fetched", async () => {
    const shell = await newShell();
    const cache = join(shell.dir, "cache");
    const bin = join(shell.dir, "bin");
    const reached = join(shell.dir, "reached");
    await promisify(execFile)("mkdir", [bin]);
    await writeFile(join(bin, "python3"), `#!/bin/sh\n: > '${reached}'\nexec sleep 300\n`, { mode: 0o755 });
    const { child, ended } = start(shell, ["dev"], { INTERLOCK_CACHE: cache, PATH: `${bin}:/usr/bin:/bin` });
    await vi.waitUntil(() => existsSync(reached), 30_000);
    child.kill(signal);
    expect(await ended).toEqual(endOf(signal));
    await expectNothingLeft(shell);
    const left = (await readdir(cache, { recursive: true })).filter((name) => name.includes("fetch-"));
    expect(left).toEqual([]);
  });

  test("while a worker connects to a Temporal that does not answer, which it says", async () => {
    const shell = await newShell();
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const connected = once(silent, "connection");
    const { child, ended } = start(shell, ["worker"], { TEMPORAL_ADDRESS: `127.0.0.1:${port}` });
    const [socket] = await connected;
    onTestFinished(() => socket.destroy());
    await said(child, `Temporal does not answer at 127.0.0.1:${port}. It is asked until `);
    child.kill(signal);
    expect(await ended).toEqual(endOf(signal));
    expect(await processesNaming(shell.dir)).toEqual([]);
  });

  test("once it is up, as ever", async () => {
    const shell = await newShell();
    const { child, ended } = start(shell, ["dev"]);
    await said(child, "RUNNING");
    child.kill(signal);
    expect(await ended).toEqual(endOf(signal));
    await expectNothingLeft(shell);
    expect(await readFile(filesOf(shell).log, "utf8")).not.toContain("panic");
  });
});

test("a terminal that is closed at a question leaves no server and no worker", async () => {
  const shell = await newShell();
  await writeTree(join(shell.dir, "package"), twoNodePackage());
  await withModel([{ content: "Which story?" }], async (_model, variables) => {
    const command = `'${process.execPath}' '${MAIN}' run package --project '${join(shell.dir, "project")}'`;
    const terminal = spawn(TERMINAL, ["-qfec", command, "/dev/null"], {
      cwd: shell.dir,
      env: { ...shell.environment, ...variables, TERM: "xterm-256color" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(async () => {
      await stopServer(filesOf(shell));
    });
    let shown = "";
    terminal.stdout.on("data", (chunk) => (shown += String(chunk)));
    await vi.waitUntil(() => shown.includes("> "), 60_000);
    expect(shown).toContain("Which story?");
    terminal.kill("SIGKILL");
    await vi.waitUntil(async () => (await processesNaming(shell.dir)).length === 0, 30_000);
    await expectNothingLeft(shell);
  });
});

/** Waits until a command has said something on standard error, which stays open. */
async function said(child: ChildProcess, words: string): Promise<void> {
  let text = "";
  child.stderr?.on("data", (chunk) => {
    text += String(chunk);
  });
  await vi.waitUntil(() => text.includes(words), 60_000);
}
