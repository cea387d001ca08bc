import type * as NodeFs from "node:fs";
import { appendFileSync } from "node:fs";
import { mkdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { RunFiles } from "../../../src/store/runs/run-files.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const bytesRead = vi.hoisted(() => ({ count: 0 }));
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof NodeFs>();
  const counted = {
    ...fs,
    readSync: (...args: Parameters<typeof fs.readSync>) => {
      const read = fs.readSync(...args);
      bytesRead.count += read;
      return read;
    },
    readFileSync: (...args: Parameters<typeof fs.readFileSync>) => {
      const read = fs.readFileSync(...args);
      bytesRead.count += read.length;
      return read;
    },
  };
  return { ...counted, default: counted };
});

const AT = "2026-01-02T03:04:05.000Z";
const DOCUMENT_BYTES = 100_000;
const VISITS = 16;
const document = (visit: number): Buffer => Buffer.alloc(DOCUMENT_BYTES, `document ${visit} `);

let dir: string;
let index: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
  index = join(dir, "boundaries.jsonl.index");
});

async function keepVisits(from = 0, to = VISITS): Promise<void> {
  const { boundaries } = new RunFiles(dir);
  for (let visit = from; visit < to; visit += 1) {
    const at = { visit, nodeId: "a", next: "b", timestamp: AT, calls: visit };
    await boundaries.keep(at, document(visit));
  }
}

/** What a process that has just started knows of the run, and how much it read for it. */
async function openAgain(visits = VISITS): Promise<number> {
  bytesRead.count = 0;
  const { boundaries } = new RunFiles(dir);
  const all = await boundaries.all();
  const read = bytesRead.count;
  expect(all.map(({ visit, calls }) => [visit, calls])).toEqual(
    Array.from({ length: visits }, (_, visit) => [visit, visit]),
  );
  expect(Buffer.from(boundaries.documentAt(visits - 2))).toEqual(document(visits - 2));
  return read;
}

/** One document and the index: what is read however many visits there were. */
const LITTLE = 2 * DOCUMENT_BYTES;
const ALL = VISITS * DOCUMENT_BYTES;

describe("a run with many large boundaries", () => {
  test("is opened without reading their documents", async () => {
    await keepVisits();
    expect(await openAgain()).toBeLessThan(LITTLE);
    expect((await stat(index)).mode & 0o777).toBe(0o600);
  });

  test("of an earlier version, without an index, is read once", async () => {
    await keepVisits();
    await rm(index);
    expect(await openAgain()).toBeGreaterThan(ALL);
    expect(await openAgain()).toBeLessThan(LITTLE);
  });

  test.each<[string, (bytes: Buffer) => Promise<void>]>([
    ["cut anywhere", (bytes) => truncate(index, Math.floor(bytes.length / 2))],
    ["cut in its last line", (bytes) => truncate(index, bytes.length - 3)],
    ["of zeros at its end", (bytes) => writeFile(index, bytes.fill(0, bytes.length - 500))],
    ["with a line missing", (bytes) => writeFile(index, bytes.toString().replace(/^.*"visit":7,.*\n/m, ""))],
    ["with foreign words", (bytes) => writeFile(index, `${bytes.toString()}what is this?\n`)],
    ["of another log", (bytes) => writeFile(index, bytes.toString().replace(/"calls":15/, '"calls":14'))],
    ["empty", () => truncate(index, 0)],
  ])("with an index %s: what it lacks is derived, once", async (_name, damage) => {
    await keepVisits();
    await damage(await readFile(index));
    await openAgain();
    expect(await openAgain()).toBeLessThan(LITTLE);
  });

  test("that an earlier version has carried on meanwhile: what the index lacks is read, once", async () => {
    await keepVisits();
    const before = await readFile(index);
    await keepVisits(VISITS, VISITS + 3);
    await writeFile(index, before);
    expect(await openAgain(VISITS + 3)).toBeLessThan(LITTLE + 4 * DOCUMENT_BYTES);
    expect(await openAgain(VISITS + 3)).toBeLessThan(LITTLE);
  });

  test("whose log is shorter than its index was restored from a backup: the log counts", async () => {
    await keepVisits(0, 10);
    const backup = await readFile(join(dir, "boundaries.jsonl"));
    await keepVisits(10, 20);
    await writeFile(join(dir, "boundaries.jsonl"), backup);
    await openAgain(10);
    await keepVisits(10, 12);
    await openAgain(12);
    expect(await openAgain(12)).toBeLessThan(LITTLE);
  });

  test("written by two processes in turn has each line in its index once", async () => {
    const one = new RunFiles(dir).boundaries;
    const other = new RunFiles(dir).boundaries;
    for (let visit = 0; visit < 10; visit += 1) {
      const at = { visit, nodeId: "a", next: "b", timestamp: AT, calls: visit };
      await (visit % 3 === 0 ? one : other).keep(at, document(visit));
    }
    expect((await readFile(index, "utf8")).trimEnd().split("\n")).toHaveLength(10);
    await openAgain(10);
  });

  test("with small lines has its index written for sixteen of them at a time", async () => {
    const { boundaries } = new RunFiles(dir);
    const lines = async () => (await readFile(index, "utf8").catch(() => "")).split("\n").length - 1;
    const known: number[] = [];
    for (let visit = 0; visit < 40; visit += 1) {
      await boundaries.keep({ visit, nodeId: "a", next: "b", timestamp: AT, calls: 0 }, Buffer.from("short"));
      known.push(await lines());
    }
    expect([...new Set(known)]).toEqual([0, 16, 32]);
    expect(await new RunFiles(dir).boundaries.all()).toHaveLength(40);
  });

  test("a line that a crash tore is in the index as none", async () => {
    await keepVisits(0, 3);
    appendFileSync(join(dir, "boundaries.jsonl"), '{"visit":3,"nodeId":"a","do');
    await keepVisits(3, 5);
    await openAgain(5);
    expect(await openAgain(5)).toBeLessThan(LITTLE);
  });
});

test("journal, audit log and graph state are opened by their indexes as well", async () => {
  await mkdir(join(dir, "state", "logs"), { recursive: true });
  const files = new RunFiles(dir);
  const { audit, calls } = files;
  for (let n = 0; n < 50; n += 1) {
    await calls.plan(`call-${n}`, { content: "x".repeat(10_000) });
    if (n < 49) await calls.record(`call-${n}`, { result: { ok: true, text: "y".repeat(10_000) } });
    const event = {
      kind: "model.turn",
      id: `${n + 1}.1`,
      promptTokens: 2,
      filler: "z".repeat(10_000),
    } as const;
    await audit.record(event, new Date(AT));
  }
  bytesRead.count = 0;
  const again = new RunFiles(dir);
  expect(await again.calls.count()).toBe(49);
  expect(again.calls.planOf("call-49")).toEqual({ content: "x".repeat(10_000) });
  expect(await again.audit.head()).toEqual(await audit.head());
  expect((await again.audit.totals()).usage).toMatchObject({ modelTurns: 50, promptTokens: 100 });
  expect(bytesRead.count).toBeLessThan(100_000);
});
