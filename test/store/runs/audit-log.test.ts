import { createHash } from "node:crypto";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { AuditLog, CHAIN_START } from "../../../src/store/runs/audit-log.js";
import { verifyAuditLog } from "../../../src/store/runs/audit-verify.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

const NOW = new Date("2026-03-04T05:06:07.000Z");
const call = (toolCallId: string, more: object = {}) => ({ kind: "tool.exec", toolCallId, ...more }) as const;
const sha256 = (line: string) => createHash("sha256").update(line).digest("hex");

let path: string;
let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
  path = join(dir, "execution.jsonl");
  await writeFile(path, "");
});

const openLog = () => new AuditLog(path, join(dir, "audit.lock"), NO_LOCK);
const lines = async () => (await readFile(path, "utf8")).split("\n").slice(0, -1);
const events = async () => (await lines()).map((line) => JSON.parse(line) as Record<string, unknown>);

async function threeEvents() {
  const log = openLog();
  await log.record(call("a"), NOW);
  await log.record(call("b"), NOW);
  return log.record(call("c"), NOW);
}

describe("an audit log", () => {
  test("says how many lines it holds at least, those of other processes too", async () => {
    const [log, other] = [openLog(), openLog()];
    expect(await log.holds(1)).toBe(false);
    await other.record(call("a"), NOW);
    expect(await log.holds(1)).toBe(true);
    expect(await log.holds(2)).toBe(false);
  });

  test("writes one line per event, each naming the hash of the one before", async () => {
    const log = openLog();
    const first = await log.record(call("a", { input: { x: 1 } }), NOW);
    const second = await log.record({ kind: "run.phase", id: "1", phase: "running" }, NOW);
    const line = `{"ts":"2026-03-04T05:06:07.000Z","kind":"tool.exec","toolCallId":"a","input":{"x":1},"prev":"${CHAIN_START}"}`;
    const next = `{"ts":"2026-03-04T05:06:07.000Z","kind":"run.phase","id":"1","phase":"running","prev":"${sha256(line)}"}`;
    expect(await lines()).toEqual([line, next]);
    expect(first).toEqual({ lines: 1, sha256: sha256(line) });
    expect(second).toEqual({ lines: 2, sha256: sha256(next) });
  });

  test("starts its chain with zeros", () => {
    expect(CHAIN_START).toBe("0".repeat(64));
  });

  test("writes an event once: by another caller, at once, and after a restart", async () => {
    const log = openLog();
    await Promise.all(Array.from({ length: 8 }, () => log.record(call("a"), NOW)));
    const head = await openLog().record(call("a", { different: true }), new Date(0));
    expect(await lines()).toHaveLength(1);
    expect(head.lines).toBe(1);
  });

  test.each([
    ["the same id of another kind", call("1"), { kind: "run.phase", id: "1" } as const],
    ["ids that look alike when joined", call('a","b'), call("a")],
    ["ids that every object has", call("constructor"), call("__proto__")],
    ["an empty id", call(""), call(" ")],
  ])("%s is another event", async (_, one, two) => {
    const log = openLog();
    await log.record(one, NOW);
    await log.record(two, NOW);
    expect(await lines()).toHaveLength(2);
  });

  test("goes on with the chain of another process", async () => {
    const [one, two] = [openLog(), openLog()];
    await one.record(call("a"), NOW);
    await two.record(call("b"), NOW);
    await one.record(call("c"), NOW);
    expect((await verifyAuditLog(path)).findings).toEqual([]);
    expect(await lines()).toHaveLength(3);
  });

  test.each(["\n", "\r\n{}\n", "\u2028", "\u2029", "\u0085", "\ud800", "\u0000"])(
    "an event with %j in it is one physical line, and its hash is that of its bytes",
    async (text) => {
      const log = openLog();
      await log.record(call(`a${text}`, { input: { [text]: text }, toolName: text }), NOW);
      const head = await log.record(call("b"), NOW);
      const content = await readFile(path, "utf8");
      expect(content.split(/[\n\r\u2028\u2029\u0085]/u)).toHaveLength(3);
      expect(await verifyAuditLog(path, head)).toMatchObject({ lines: 2, findings: [] });
    },
  );
});

describe("whoever changes the log is found out", () => {
  test.each<[string, (content: string) => string, number]>([
    ["an edited line", (content) => content.replace('"toolCallId":"a"', '"toolCallId":"x"'), 2],
    ["a removed line", (content) => content.split("\n").toSpliced(1, 1).join("\n"), 2],
    ["a removed first line", (content) => content.split("\n").slice(1).join("\n"), 1],
    [
      "two lines that changed places",
      (content) => [1, 0, 2, 3].map((at) => content.split("\n")[at]).join("\n"),
      1,
    ],
    [
      "an inserted line",
      (content) => content.replace("\n", `\n{"kind":"tool.exec","prev":"${CHAIN_START}"}\n`),
      2,
    ],
    ["a line twice", (content) => content.replace(/^(.*\n)/u, "$1$1"), 2],
    ["a space in a line", (content) => content.replace('"kind":', '"kind": '), 2],
  ])("by %s", async (_, change, line) => {
    await threeEvents();
    await writeFile(path, change(await readFile(path, "utf8")));
    expect((await verifyAuditLog(path)).findings[0]?.line).toBe(line);
  });

  test.each<[string, (content: string) => string]>([
    ["a cut tail", (content) => `${content.split("\n").slice(0, 2).join("\n")}\n`],
    ["an edited last line", (content) => content.replace('"toolCallId":"c"', '"toolCallId":"x"')],
  ])("by %s, for whoever knows the head", async (_, change) => {
    const head = await threeEvents();
    await writeFile(path, change(await readFile(path, "utf8")));
    expect((await verifyAuditLog(path)).findings).toEqual([]);
    expect((await verifyAuditLog(path, head)).findings).toHaveLength(1);
  });

  test("an untouched log has nothing to find", async () => {
    const head = await threeEvents();
    expect(await verifyAuditLog(path, head)).toEqual({ ...head, findings: [] });
  });
});

describe("a line that a crash tore", () => {
  test("is ended and marked, and the event it was of is written again", async () => {
    await openLog().record(call("a"), NOW);
    await appendFile(path, '{"ts":"2026-03-04T05:06:07.000Z","kind":"tool.exec","toolCallId":"b","inp');
    await openLog().record(call("b"), NOW);
    const [first, torn, repair, again] = await lines();
    expect(parseOrText(torn)).toMatch(/"inp$/u);
    expect(parseOrText(repair)).toMatchObject({ kind: "log.repaired", id: "2", prev: sha256(torn ?? "") });
    expect(parseOrText(again)).toMatchObject({ toolCallId: "b", prev: sha256(repair ?? "") });
    expect(parseOrText(first)).toMatchObject({ toolCallId: "a" });
    expect((await verifyAuditLog(path)).findings).toEqual([]);
  });

  test("that lacks only its line end is an event like any other, and not written twice", async () => {
    await openLog().record(call("a"), NOW);
    await writeFile(path, (await readFile(path, "utf8")).trimEnd());
    await openLog().record(call("a"), NOW);
    expect((await events()).map(({ kind }) => kind)).toEqual(["tool.exec", "log.repaired"]);
    expect((await verifyAuditLog(path)).findings).toEqual([]);
  });

  test("whose repair a second crash cut short is marked in the end", async () => {
    await openLog().record(call("a"), NOW);
    await appendFile(path, '{"torn":\n'); // ended, but the mark was never written
    const log = openLog();
    await log.record(call("a"), NOW);
    await log.record(call("b"), NOW);
    expect((await lines()).slice(2).map((line) => JSON.parse(line).kind)).toEqual([
      "log.repaired",
      "tool.exec",
    ]);
    expect((await verifyAuditLog(path)).findings).toEqual([]);
  });

  test("twice is marked twice", async () => {
    await openLog().record(call("a"), NOW);
    await appendFile(path, "x");
    await openLog().record(call("b"), NOW);
    await appendFile(path, "y");
    await openLog().record(call("c"), NOW);
    const kinds = (await lines()).map((line) => (line.startsWith("{") ? JSON.parse(line).kind : line));
    expect(kinds).toEqual(["tool.exec", "x", "log.repaired", "tool.exec", "y", "log.repaired", "tool.exec"]);
    expect((await verifyAuditLog(path)).findings).toEqual([]);
  });
});

function parseOrText(line = ""): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}
