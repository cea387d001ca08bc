// @module-tag slow
import { eventually } from "../fakes/eventually.js";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { findTemporalCli, type TemporalCli } from "../../src/embedded/find-cli.js";
import { processIdentity } from "../../src/embedded/process-identity.js";
import {
  acquireEmbeddedServer,
  EmbeddedServerError,
  isServed,
  type EmbeddedServer,
  type EmbeddedServerOptions,
} from "../../src/embedded/server.js";
import { answersAsTemporal } from "../../src/embedded/probe.js";
import { stopServer } from "../../src/embedded/server-process.js";
import { FileLock } from "../../src/embedded/server-lock.js";
import { readServerRecord, serverFiles, writeServerRecord } from "../../src/embedded/server-record.js";
import { compileEmbedded, temporaryDirectory } from "../embedded/helpers.js";

const CACHE = process.env["INTERLOCK_TEST_CACHE"] ?? join(tmpdir(), "interlock-test-cache");
const SEARCH_ATTRIBUTES = { InterlockPhase: "Keyword", InterlockNode: "Keyword" } as const;

let cli: TemporalCli;
let compiled: Awaited<ReturnType<typeof compileEmbedded>>;

beforeAll(async () => {
  const pathVariable = process.env["PATH"] ?? "";
  cli = await findTemporalCli({ cacheDir: CACHE, pathVariable, environment: process.env });
  compiled = await compileEmbedded();
  await writeFile(
    join(compiled.directory, "user.js"),
    `import { createInterface } from "node:readline";
     import { acquireEmbeddedServer } from "./server.js";
     process.on("SIGINT", () => console.log("interrupted"));
     const server = await acquireEmbeddedServer(JSON.parse(process.argv[2]));
     console.log(JSON.stringify(server));
     for await (const line of createInterface({ input: process.stdin })) if (line === "release") break;
     await server.release();`,
  );
});

afterAll(() => compiled.remove());

/** A store whose server, if a failing test leaves one, is stopped. */
async function newStore(): Promise<string> {
  const storeDir = join(await temporaryDirectory(), "store");
  onTestFinished(async () => {
    if (existsSync(storeDir)) await stopServer(serverFiles(storeDir));
  });
  return storeDir;
}

function optionsFor(storeDir: string): EmbeddedServerOptions {
  return { storeDir, cliPath: cli.path, cacheDir: CACHE, searchAttributes: SEARCH_ATTRIBUTES };
}

async function acquire(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const server = await acquireEmbeddedServer(options);
  onTestFinished(() => server.release());
  return server;
}

interface OtherProcess {
  readonly child: ChildProcess;
  readonly server: Omit<EmbeddedServer, "release">;
  readonly lines: AsyncIterator<string>;
  end(): Promise<void>;
}

/** Another Interlock process that uses the server of the store. */
async function otherProcess(storeDir: string): Promise<OtherProcess> {
  const script = join(compiled.directory, "user.js");
  const child = spawn(process.execPath, [script, JSON.stringify(optionsFor(storeDir))], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true, // a process group of its own, like a command typed at a terminal
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done === true) throw new Error("the other process ended without a server");
  return {
    child,
    server: JSON.parse(first.value) as Omit<EmbeddedServer, "release">,
    lines,
    async end() {
      child.stdin.end("release\n");
      await once(child, "exit");
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function registeredAttributes(address: string): Promise<readonly string[]> {
  const list = ["operator", "search-attribute", "list", "--output", "json", "--address", address];
  const { stdout } = await promisify(execFile)(cli.path, [
    ...list,
    "--disable-config-file",
    "--disable-config-env",
  ]);
  const { customAttributes } = JSON.parse(stdout) as { customAttributes: Record<string, string> };
  return Object.keys(customAttributes).sort();
}

/** Protobuf's JSON of a duration, as in `86400s`. */
async function retentionOf({ address }: EmbeddedServer): Promise<string> {
  const describe = ["operator", "namespace", "describe", "-n", "default", "--output", "json"];
  const { stdout } = await promisify(execFile)(cli.path, [...describe, "--address", address]);
  const { config } = JSON.parse(stdout) as { config: { workflowExecutionRetentionTtl: string } };
  return config.workflowExecutionRetentionTtl;
}

/** The process of the gate before the Web UI. */
function gateOf(storeDir: string): number {
  return readServerRecord(serverFiles(storeDir))!.front!.gate!.pid;
}

function isAlive(pid: number): boolean {
  return processIdentity(pid) !== null;
}

describe("the first user of a store", () => {
  test("gets a server that is ready, private to the user, and gone after the release", async () => {
    const storeDir = await newStore();
    const files = serverFiles(storeDir);

    const server = await acquire(optionsFor(storeDir));

    expect(server).toMatchObject({ startedHere: true, namespace: "default" });
    expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(await answersAsTemporal(server.address, "default")).toBe(true);
    expect((await fetch(server.uiUrl)).status).toBe(200);
    expect(await registeredAttributes(server.address)).toEqual(["InterlockNode", "InterlockPhase"]);
    expect((await stat(storeDir)).mode & 0o777).toBe(0o700);
    for (const file of [files.database, files.log, files.record, files.users, files.turn]) {
      expect([file, (await stat(file)).mode & 0o777]).toEqual([file, 0o600]);
    }

    await Promise.all([server.release(), server.release()]);
    expect(isAlive(server.pid)).toBe(false);
    expect(existsSync(files.record)).toBe(false);
  });

  test.runIf(process.platform === "linux")("gives the server nothing of our environment", async () => {
    const server = await acquire(optionsFor(await newStore()));
    const environment = await readFile(`/proc/${server.pid}/environ`, "utf8");
    const names = environment.split("\0").map((entry) => entry.split("=")[0]);
    expect(names.filter((name) => name !== "")).toEqual(["HOME"]);
  });

  test("gets other ports where the usual ones are taken", async () => {
    for (const port of [7233, 8233]) {
      const squatter = createServer().listen(port, "127.0.0.1");
      onTestFinished(() => {
        squatter.close();
      });
      await Promise.race([
        once(squatter, "listening"),
        new Promise((resolve) => squatter.once("error", resolve)),
      ]);
    }
    const server = await acquire(optionsFor(await newStore()));
    expect(server.address).not.toBe("127.0.0.1:7233");
    expect(server.uiUrl).not.toBe("http://127.0.0.1:8233");
    expect((await fetch(server.uiUrl)).status).toBe(200);
  });

  test("gets a server also when a port is taken at the last moment", async () => {
    const storeDir = await newStore();
    const directory = await temporaryDirectory();
    const wrapper = join(directory, "temporal");
    const marker = join(directory, "refused-once");
    await writeFile(
      wrapper,
      `#!/bin/sh
       if [ "$1" = server ] && [ ! -e '${marker}' ]; then
         echo "$*" > '${marker}'
         echo 'level=ERROR msg="Failed to start" error="listen tcp: bind: address already in use"' >&2
         echo 'panic: nil pointer' >&2
         for frame in $(seq 1 40); do echo "frame $frame" >&2; done
         exit 1
       fi
       exec '${cli.path}' "$@"\n`,
      { mode: 0o755 },
    );

    const server = await acquire({ ...optionsFor(storeDir), cliPath: wrapper });

    const refused = /--port (\d+) .*--ui-port (\d+)/.exec(await readFile(marker, "utf8"));
    expect(server.address).not.toBe(`127.0.0.1:${refused?.[1]}`);
    expect(server.uiUrl).not.toBe(`http://127.0.0.1:${refused?.[2]}`);
    expect(await answersAsTemporal(server.address, "default")).toBe(true);
  });

  test("can use a CLI that is a script in front of the real one, and ends both", async () => {
    const storeDir = await newStore();
    const wrapper = join(await temporaryDirectory(), "temporal");
    await writeFile(wrapper, `#!/bin/sh\n'${cli.path}' "$@"\nexit $?\n`, { mode: 0o755 });

    const server = await acquire({ ...optionsFor(storeDir), cliPath: wrapper });
    await server.release();

    expect(isAlive(server.pid)).toBe(false);
    expect(await answersAsTemporal(server.address, "default")).toBe(false);
  });

  test("who calls it off leaves nothing running", async () => {
    const storeDir = await newStore();
    const controller = new AbortController();
    const reason = new Error("called off");
    const wrapper = join(await temporaryDirectory(), "temporal");
    const pidFile = `${wrapper}.pid`;
    await writeFile(
      wrapper,
      `#!/bin/sh
       if [ "$1" = server ]; then echo $$ > '${pidFile}'; exec sh -c 'sleep 60; :' "$@"; fi
       exec '${cli.path}' "$@"\n`,
      { mode: 0o755 },
    );
    const acquiring = acquireEmbeddedServer({
      ...optionsFor(storeDir),
      cliPath: wrapper,
      signal: controller.signal,
    });
    const outcome = acquiring.catch((error: unknown) => error);
    await eventually(() => existsSync(pidFile));
    controller.abort(reason);
    expect(await outcome).toBe(reason);

    expect(existsSync(serverFiles(storeDir).record)).toBe(false);
    const server = await acquire(optionsFor(storeDir));
    expect(server.startedHere).toBe(true);
  });
});

test("a store directory that cannot be made is an error that says so", async () => {
  const file = join(await temporaryDirectory(), "file");
  await writeFile(file, "");
  const acquiring = acquireEmbeddedServer(optionsFor(join(file, "store")));
  await expect(acquiring).rejects.toThrow(`The store directory ${join(file, "store")} cannot be used`);
});

describe("a store that was used before", () => {
  test.runIf(process.platform === "linux")(
    "and whose directory is open to others has no file that is, from before the server starts",
    async () => {
      const storeDir = await newStore();
      const files = serverFiles(storeDir);
      const before = await acquire(optionsFor(storeDir));
      await before.release();
      await chmod(storeDir, 0o755);
      await writeFile(files.log, "");
      for (const file of [files.database, files.log]) await chmod(file, 0o644);
      const seen = join(await temporaryDirectory(), "seen");
      const wrapper = join(await temporaryDirectory(), "temporal");
      await writeFile(
        wrapper,
        `#!/bin/sh
         if [ "$1" = server ]; then
           umask > '${seen}'
           stat -c %a '${files.database}' '${files.log}' >> '${seen}'
         fi
         exec '${cli.path}' "$@"\n`,
        { mode: 0o755 },
      );

      await acquire({ ...optionsFor(storeDir), cliPath: wrapper });

      expect((await readFile(seen, "utf8")).split("\n").slice(0, 3)).toEqual(["0077", "600", "600"]);
      for (const name of await readdir(storeDir)) {
        expect([name, (await stat(join(storeDir, name))).mode & 0o077]).toEqual([name, 0]);
      }
    },
  );

  test("keeps what it had, and takes search attributes that came later", async () => {
    const storeDir = await newStore();
    const first = await acquire({ ...optionsFor(storeDir), searchAttributes: { InterlockPhase: "Keyword" } });
    await first.release();

    const second = await acquire(optionsFor(storeDir));

    expect(await registeredAttributes(second.address)).toEqual(["InterlockNode", "InterlockPhase"]);
    const third = await acquire({
      ...optionsFor(storeDir),
      searchAttributes: { ...SEARCH_ATTRIBUTES, InterlockPackage: "Keyword" },
    });
    expect(third.pid).toBe(second.pid);
    expect(await registeredAttributes(third.address)).toContain("InterlockPackage");
  });

  test("keeps ended runs for 30 days, unless somebody has said for how long", async () => {
    const storeDir = await newStore();
    const first = await acquire(optionsFor(storeDir));
    await expect(retentionOf(first)).resolves.toBe("2592000s");
    const week = ["operator", "namespace", "update", "-n", "default", "--retention", "7d"];
    await promisify(execFile)(cli.path, [...week, "--address", first.address]);
    await first.release();

    const second = await acquire(optionsFor(storeDir));
    await expect(retentionOf(second)).resolves.toBe("604800s");
    await second.release();
  });

  test("whose database is damaged is an error that quotes the server and names the file", async () => {
    const storeDir = await newStore();
    await mkdir(storeDir, { recursive: true });
    const files = serverFiles(storeDir);
    await writeFile(files.database, "this was a database once\n".repeat(100));

    const acquiring = acquireEmbeddedServer(optionsFor(storeDir));

    await expect(acquiring).rejects.toThrow(EmbeddedServerError);
    await expect(acquiring).rejects.toThrow("file is not a database");
    await expect(acquiring).rejects.toThrow(files.log);
    await expect(acquiring).rejects.toThrow(
      `${files.database} is damaged, or another Temporal version wrote it`,
    );
    expect(await readFile(files.database, "utf8")).toContain("this was a database once");
  });

  test("whose very first start was cut off starts from scratch", async () => {
    const storeDir = await newStore();
    const files = serverFiles(storeDir);
    const before = await acquire(optionsFor(storeDir));
    const record = readServerRecord(files)!;
    await before.release();
    await writeFile(files.database, ""); // made, but still without its tables
    writeServerRecord(files, { ...record, established: false });

    const server = await acquire(optionsFor(storeDir));

    expect(server.startedHere).toBe(true);
    expect(await registeredAttributes(server.address)).toEqual(["InterlockNode", "InterlockPhase"]);
  });

  test("whose record names a process that is not its server starts anew and leaves that one alone", async () => {
    const storeDir = await newStore();
    const files = serverFiles(storeDir);
    const before = await acquire(optionsFor(storeDir));
    const record = readServerRecord(files)!;
    await before.release();
    const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
    onTestFinished(() => {
      stranger.kill("SIGKILL");
    });
    await once(stranger, "spawn");
    writeServerRecord(files, { ...record, pid: stranger.pid!, identity: processIdentity(stranger.pid!)! });

    const server = await acquire(optionsFor(storeDir));

    expect(server.startedHere).toBe(true);
    expect(server.pid).not.toBe(stranger.pid);
    await server.release();
    expect(isAlive(stranger.pid!)).toBe(true);
  });
});

describe("a server that runs", () => {
  test("is used by a second process and stopped by whoever ends last", async () => {
    const storeDir = await newStore();
    const here = await acquire(optionsFor(storeDir));

    const other = await otherProcess(storeDir);
    expect(other.server).toMatchObject({ pid: here.pid, address: here.address, startedHere: false });
    expect(await here.isShared()).toBe(true); // it lasts when we go

    await here.release();
    expect(await answersAsTemporal(here.address, "default")).toBe(true);
    await other.end();
    expect(isAlive(here.pid)).toBe(false);
  });

  test("does not hold up who looks or leaves while another process keeps the turn, stopped", async () => {
    const storeDir = await newStore();
    const ctrlC = new AbortController();
    const said: string[] = [];
    const onProgress = (line: string) => {
      said.push(line);
      ctrlC.abort(new Error("SIGINT"));
    };
    const here = await acquire({ ...optionsFor(storeDir), signal: ctrlC.signal, onProgress });
    const turn = new FileLock(serverFiles(storeDir).turn);
    expect(turn.tryExclusive()).toBe(true);

    expect(await isServed(storeDir)).toBe(true);
    expect(await here.isShared()).toBe(false); // it cannot be promised
    await here.release();
    expect(said).toEqual([
      "Another process is starting or stopping the Temporal server; waiting.",
      "The Temporal server was left to the process that is starting or stopping it.",
    ]);

    turn.close();
    const next = await acquire(optionsFor(storeDir));
    expect(next).toMatchObject({ pid: here.pid, startedHere: false });
    await next.release();
    expect(isAlive(next.pid)).toBe(false); // who left without the turn is no user any more
  });

  test("and was stopped is waited for aloud, and used when it goes on", async () => {
    const storeDir = await newStore();
    const first = await acquire(optionsFor(storeDir));
    process.kill(first.pid, "SIGSTOP");
    const notes: string[] = [];
    const onProgress = (line: string) => {
      notes.push(line);
      process.kill(first.pid, "SIGCONT");
    };
    const second = await acquire({ ...optionsFor(storeDir), onProgress });
    expect([second.pid, second.startedHere]).toEqual([first.pid, false]);
    expect(notes).toEqual([
      `The Temporal server (process ${first.pid}, ${first.address}) does not answer. It is asked for 30 s.`,
    ]);
  });

  test("is found again after its parent was killed", async () => {
    const storeDir = await newStore();
    const other = await otherProcess(storeDir);
    await kill(other.child);
    expect(isAlive(other.server.pid)).toBe(true);

    const here = await acquire(optionsFor(storeDir));

    expect(here).toMatchObject({ pid: other.server.pid, address: other.server.address, startedHere: false });
    expect(await here.isShared()).toBe(false); // it ends with us
    await here.release();
    expect(isAlive(here.pid)).toBe(false);
  });

  test("does not end by the Ctrl-C that its parent gets", async () => {
    const other = await otherProcess(await newStore());
    process.kill(-other.child.pid!, "SIGINT");
    expect((await other.lines.next()).value).toBe("interrupted");
    expect(await answersAsTemporal(other.server.address, "default")).toBe(true);
    await other.end();
    expect(isAlive(other.server.pid)).toBe(false);
  });

  test("is one, though two processes start at once", async () => {
    const storeDir = await newStore();
    const [first, second] = await Promise.all([otherProcess(storeDir), otherProcess(storeDir)]);
    expect(first.server.pid).toBe(second.server.pid);
    expect(first.server.startedHere).not.toBe(second.server.startedHere);
    await Promise.all([first.end(), second.end()]);
    expect(isAlive(first.server.pid)).toBe(false);
  });

  test("is not shared between stores", async () => {
    const first = await acquire(optionsFor(await newStore()));
    const second = await acquire(optionsFor(await newStore()));
    expect(second.startedHere).toBe(true);
    expect(second.address).not.toBe(first.address);
    expect(second.uiUrl).not.toBe(first.uiUrl);
  });

  test("that died under its users is replaced for the next one", async () => {
    const storeDir = await newStore();
    const before = await acquire(optionsFor(storeDir));
    expect(before.isStill()).toBe(true);
    process.kill(before.pid, "SIGKILL");

    // A server in the midst of dying may still be found: its successor is what counts.
    await eventually(() => !isAlive(before.pid));
    expect(before.isStill()).toBe(false); // whatever answers there by now
    const after = await acquire(optionsFor(storeDir));
    expect(before.isStill()).toBe(after.address === before.address);

    expect(after.startedHere).toBe(true);
    expect(after.pid).not.toBe(before.pid);
    await before.release();
    expect(isAlive(after.pid)).toBe(true);
  });

  test("has a Web UI whose address outlives whoever started it, and ends with the server", async () => {
    const storeDir = await newStore();
    const first = await otherProcess(storeDir);
    const here = await acquire(optionsFor(storeDir));
    expect(here.uiUrl).toBe(first.server.uiUrl);
    await kill(first.child);
    expect((await fetch(here.uiUrl)).status).toBe(200);

    await here.release();
    await expect(fetch(here.uiUrl)).rejects.toThrow("fetch failed");
    expect(isAlive(here.pid)).toBe(false);
  });

  test("gets its Web UI back under the same address when the gate before it was killed", async () => {
    const storeDir = await newStore();
    const here = await acquire(optionsFor(storeDir));
    const gate = gateOf(storeDir);
    process.kill(gate, "SIGKILL");
    await vi.waitUntil(() => !isAlive(gate), 10_000);

    const next = await acquire(optionsFor(storeDir));

    expect(next).toMatchObject({ pid: here.pid, uiUrl: here.uiUrl, startedHere: false });
    expect(gateOf(storeDir)).not.toBe(gate);
    expect((await fetch(here.uiUrl)).status).toBe(200);
  });

  test("takes the gate before its Web UI with it when it dies", async () => {
    const storeDir = await newStore();
    const here = await acquire(optionsFor(storeDir));
    const gate = gateOf(storeDir);
    process.kill(here.pid, "SIGKILL");
    await vi.waitUntil(() => !isAlive(gate), 10_000);
    await expect(fetch(here.uiUrl)).rejects.toThrow("fetch failed");
  });

  test("that an earlier version started is replaced, for its Web UI is open to any page", async () => {
    const storeDir = await newStore();
    const files = serverFiles(storeDir);
    const other = await otherProcess(storeDir);
    const gate = gateOf(storeDir);
    await kill(other.child);
    const { front, ...earlier } = readServerRecord(files)!;
    writeServerRecord(files, { ...earlier, uiPort: front!.uiPort });

    const here = await acquire(optionsFor(storeDir));

    expect(here.startedHere).toBe(true);
    expect(isAlive(other.server.pid)).toBe(false);
    expect((await fetch(here.uiUrl)).status).toBe(200);
    expect(gateOf(storeDir)).not.toBe(gate);
    await vi.waitUntil(() => !isAlive(gate), 10_000);
  });

  test("that an earlier version started and still uses is used beside it, with a word about it", async () => {
    const storeDir = await newStore();
    const files = serverFiles(storeDir);
    const other = await otherProcess(storeDir);
    const { front, ...earlier } = readServerRecord(files)!;
    writeServerRecord(files, { ...earlier, uiPort: front!.uiPort });
    const notes: string[] = [];

    const here = await acquire({ ...optionsFor(storeDir), onProgress: (line) => notes.push(line) });

    expect(here).toMatchObject({ pid: other.server.pid, startedHere: false });
    expect(notes.join("\n")).toContain("its Web UI is open to web pages");
    await other.end();
    expect(isAlive(here.pid)).toBe(true);
  });

  test("without a record is neither doubled nor killed; the error says how to find it", async () => {
    const storeDir = await newStore();
    const files = serverFiles(storeDir);
    const here = await acquire(optionsFor(storeDir));
    await rename(files.record, `${files.record}.lost`);

    await expect(acquireEmbeddedServer(optionsFor(storeDir))).rejects.toThrow(`lsof ${files.log}`);
    expect(isAlive(here.pid)).toBe(true);

    await rename(`${files.record}.lost`, files.record);
    await here.release();
    expect(isAlive(here.pid)).toBe(false);
  });
});

test("two processes that fetch at once end with the same good CLI", async () => {
  const cacheDir = await temporaryDirectory();
  await writeFile(
    join(compiled.directory, "fetch.js"),
    `import { findTemporalCli } from "./find-cli.js";
     console.log(JSON.stringify(await findTemporalCli({ cacheDir: process.argv[2], environment: process.env })));`,
  );
  const fetchOnce = async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(compiled.directory, "fetch.js"),
      cacheDir,
    ]);
    return JSON.parse(stdout) as TemporalCli;
  };

  const found = await Promise.all([fetchOnce(), fetchOnce()]);

  expect(found.map(({ source }) => source).sort()).toEqual(["cache", "fetched"]);
  expect(found[0]?.path).toBe(found[1]?.path);
  expect(found[0]?.version).toBe("1.9.1");
});
