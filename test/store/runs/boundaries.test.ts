import { appendFile, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { sha256 } from "../../../src/store/disk/sha256.js";
import { Boundaries, DamagedBoundary } from "../../../src/store/runs/boundaries.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

const AT = "2026-01-02T03:04:05.000Z";
const VISITS = 600;

let path: string;
beforeEach(async () => {
  path = join(await temporaryDirectory(), "boundaries.jsonl");
});

const open = () => new Boundaries(path, `${path}.lock`, NO_LOCK);
const opened = async () => {
  const boundaries = open();
  await boundaries.all();
  return boundaries;
};

/** A document as a run leaves it after a visit: its lists have grown. */
function documentOf(visit: number): Buffer {
  const nodes = Array.from({ length: visit }, (_, index) => `node-${index + 1}`);
  const log = nodes.map((from, index) => ({ from, to: `node-${index + 2}`, label: "next" }));
  const head = `stepsCompleted: ${JSON.stringify(nodes)}\ndecisionLog: ${JSON.stringify(log)}`;
  return Buffer.from(`---\n${head}\ncurrentNodeId: "node-${visit + 1}"\n---\n# Ein Weg für alle\n`);
}

async function keepVisits(boundaries: Boundaries, from: number, to: number): Promise<void> {
  for (let visit = from; visit < to; visit += 1) {
    const at = { visit, nodeId: `node-${visit}`, next: `node-${visit + 1}`, timestamp: AT, calls: visit };
    await boundaries.keep(at, documentOf(visit));
  }
}

/** As versions before have written it. */
function wholeLine(visit: number): string {
  const document = documentOf(visit).toString();
  const at = { visit, nodeId: `node-${visit}`, next: `node-${visit + 1}`, timestamp: AT, calls: visit };
  return `${JSON.stringify({ ...at, documentSha256: sha256(document), document })}\n`;
}

const linesOf = async () => (await readFile(path, "utf8")).split("\n").slice(0, -1);

describe("the boundaries of a long run", () => {
  test("cost what the visits have changed, and each document is there to the byte", async () => {
    await keepVisits(open(), 0, VISITS);
    const whole = Array.from({ length: VISITS }, (_, visit) => documentOf(visit).length);
    const { size } = await stat(path);
    expect(size).toBeLessThan(whole.reduce((sum, bytes) => sum + bytes, 0) / 20);
    const boundaries = await opened();
    for (let visit = VISITS - 1; visit >= 0; visit -= 1) {
      expect(Buffer.from(boundaries.documentAt(visit)).equals(documentOf(visit))).toBe(true);
    }
  });

  test("are read in lines that are together a few times as long as the document", async () => {
    await keepVisits(open(), 0, VISITS);
    const lines = (await linesOf()).map((line) => JSON.parse(line) as { since?: number });
    let changes = 0;
    for (const [visit, line] of lines.entries()) {
      changes = line.since === undefined ? 0 : changes + JSON.stringify(line).length;
      expect(changes).toBeLessThan(2 * documentOf(visit).length + 500);
    }
    expect(lines.filter(({ since }) => since === undefined).length).toBeGreaterThan(1);
  });

  test("whose index is gone are read from the log", async () => {
    await keepVisits(open(), 0, 50);
    await rm(`${path}.index`);
    const boundaries = await opened();
    expect(Buffer.from(boundaries.documentAt(33)).equals(documentOf(33))).toBe(true);
  });

  test("kept by two processes in turn rest on what the other has kept", async () => {
    const pair = [open(), open()] as const;
    for (let visit = 0; visit < 40; visit += 1) {
      await keepVisits(pair[visit % 3 === 0 ? 0 : 1], visit, visit + 1);
    }
    const boundaries = await opened();
    for (let visit = 0; visit < 40; visit += 1) {
      expect(Buffer.from(boundaries.documentAt(visit)).equals(documentOf(visit))).toBe(true);
    }
  });

  test("that somebody else has kept meanwhile stay theirs, also in memory", async () => {
    const [one, other] = [open(), open()];
    await keepVisits(one, 0, 3);
    await other.keep({ visit: 2, nodeId: "x", next: "y", timestamp: AT, calls: 9 }, documentOf(77));
    expect(Buffer.from(other.documentAt(2)).equals(documentOf(2))).toBe(true);
  });

  test("of a store written before go on: their documents stay, and the next ones rest on them", async () => {
    for (let visit = 0; visit < 20; visit += 1) await appendFile(path, wholeLine(visit));
    const before = await readFile(path);
    await keepVisits(await opened(), 20, 40);
    const after = await readFile(path);
    expect(after.subarray(0, before.length).equals(before)).toBe(true);
    expect(JSON.parse((await linesOf())[20] ?? "")).toMatchObject({ since: 19 });
    const boundaries = await opened();
    for (let visit = 0; visit < 40; visit += 1) {
      expect(Buffer.from(boundaries.documentAt(visit)).equals(documentOf(visit))).toBe(true);
    }
  });
});

describe("a damaged line of the boundaries", () => {
  test("takes those with it that rest on it, up to the next whole document, and says which visit is lost", async () => {
    await keepVisits(open(), 0, 100);
    const lines = await linesOf();
    const wholes = lines.flatMap((line, visit) => ("document" in JSON.parse(line) ? [visit] : []));
    const [hit, next] = [wholes.at(-2), wholes.at(-1)];
    if (hit === undefined || next === undefined) throw new Error("there are several whole documents");
    lines[hit] = (lines[hit] ?? "").replace("Ein Weg", "Ein Steg");
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    await rm(`${path}.index`);
    const boundaries = await opened();
    for (const lost of [hit, hit + 1, next - 1]) {
      expect(() => boundaries.documentAt(lost)).toThrow(
        new DamagedBoundary(
          `The line of visit ${lost} in ${path} is damaged, or one that it rests on. Restore the file from a backup.`,
        ),
      );
    }
    for (const kept of [hit - 1, next, 99]) {
      expect(Buffer.from(boundaries.documentAt(kept)).equals(documentOf(kept))).toBe(true);
    }
  });

  test.each([
    ["edits that are none", (line: string) => line.replace(/"edits":\[.*?\]/u, '"edits":[{"at":-1}]')],
    ["another hash", (line: string) => line.replace(/"documentSha256":"./u, '"documentSha256":"_')],
    ["a way back that leads forward", (line: string) => line.replace(/"since":\d+/u, '"since":30')],
    ["a way back to nowhere", (line: string) => line.replace(/"since":\d+/u, '"since":-5')],
  ])("with %s is not handed out, and the next boundary is a whole one", async (_, damage) => {
    await keepVisits(open(), 0, 31);
    const lines = await linesOf();
    expect(damage(lines[30] ?? "")).not.toBe(lines[30]);
    lines[30] = damage(lines[30] ?? "");
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    await rm(`${path}.index`);
    const boundaries = await opened();
    expect(() => boundaries.documentAt(30)).toThrow(DamagedBoundary);
    await keepVisits(boundaries, 31, 32);
    expect(JSON.parse((await linesOf())[31] ?? "")).toHaveProperty("document");
    expect(Buffer.from((await opened()).documentAt(31)).equals(documentOf(31))).toBe(true);
  });
});
