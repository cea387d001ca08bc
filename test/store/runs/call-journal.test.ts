import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { CallJournal, type CallOutcome } from "../../../src/store/runs/call-journal.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

let path: string;
let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
  path = join(dir, "calls.jsonl");
});

const open = () => new CallJournal(path, join(dir, "calls.lock"), NO_LOCK);
const done = (n: number): CallOutcome => ({ result: { ok: true, n } });
const lineCount = async () => (await readFile(path, "utf8")).split("\n").length - 1;

describe("a call journal", () => {
  test("gives back what was recorded, to whoever asks, and nothing else", async () => {
    const call: CallOutcome = {
      result: { ok: false, error: { code: "E_INTERNAL", message: "é\n" } },
      state: { sha256: "f", artifact: "artifacts/a.md" },
      stateConflict: true,
    };
    const journal = open();
    expect(await journal.find("a")).toBeUndefined();
    expect(await journal.record("a", call)).toBe(true);
    expect(await journal.find("a")).toEqual({ id: "a", ...call });
    expect(await open().find("a")).toEqual({ id: "a", ...call });
    expect(await open().find("b")).toBeUndefined();
  });

  test("keeps the first result of an id: the second record is none", async () => {
    const [one, other] = [open(), open()];
    expect(await one.record("a", done(1))).toBe(true);
    expect(await other.record("a", done(2))).toBe(false);
    expect(await one.record("a", done(3))).toBe(false);
    expect((await other.find("a"))?.result).toEqual({ ok: true, n: 1 });
    expect(await lineCount()).toBe(1);
  });

  test("of eight records of one id at once, one stands", async () => {
    const journals = [open(), open()];
    const wins = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (journals[n % 2] as CallJournal).record("a", done(n))),
    );
    expect(wins.filter(Boolean)).toHaveLength(1);
    expect((await open().find("a"))?.result).toEqual({ ok: true, n: wins.indexOf(true) });
    expect(await lineCount()).toBe(1);
  });

  test("finds many at once, those that are there", async () => {
    const journal = open();
    await journal.record("a", done(1));
    await journal.record("b", done(2));
    const found = await open().findAll(["b", "x", "a", "b"]);
    expect([...found].map(([id, { result }]) => [id, result])).toEqual([
      ["b", { ok: true, n: 2 }],
      ["a", { ok: true, n: 1 }],
    ]);
  });

  test.each(["__proto__", "constructor", "", "a\nb", "\ud800", '"}'])(
    "takes %j for an id like any other",
    async (id) => {
      const journal = open();
      expect(await journal.find(id)).toBeUndefined();
      await journal.plan(id, { n: 1 });
      expect(journal.planOf(id)).toEqual({ n: 1 });
      await journal.record(id, done(1));
      expect((await open().find(id))?.result).toEqual({ ok: true, n: 1 });
      expect(journal.planOf(id)).toBeUndefined();
    },
  );
});

describe("a plan", () => {
  test("is what an attempt that was cut short leaves, also to another process", async () => {
    await open().plan("a", { sha256After: "x" });
    const journal = open();
    expect(await journal.find("a")).toBeUndefined();
    expect(journal.planOf("a")).toEqual({ sha256After: "x" });
  });

  test("is replaced by a later one, and gone with the result", async () => {
    const journal = open();
    await journal.plan("a", { n: 1 });
    await journal.plan("a", { n: 2 });
    expect(journal.planOf("a")).toEqual({ n: 2 });
    await journal.record("a", done(1));
    await journal.plan("a", { n: 3 });
    const other = open();
    await other.find("a");
    expect([journal.planOf("a"), other.planOf("a")]).toEqual([undefined, undefined]);
  });
});

describe("lines that a crash tore", () => {
  test("a torn result leaves the plan, so that the call is taken up again", async () => {
    await open().plan("a", { n: 1 });
    await appendFile(path, '{"id":"a","result":{"ok":tr');
    const journal = open();
    expect(await journal.find("a")).toBeUndefined();
    expect(journal.planOf("a")).toEqual({ n: 1 });
    await journal.record("a", done(1));
    expect((await open().find("a"))?.result).toEqual({ ok: true, n: 1 });
  });

  test("a torn plan is none", async () => {
    await writeFile(path, '{"id":"a","plan":{"sha');
    const journal = open();
    expect(await journal.find("a")).toBeUndefined();
    expect(journal.planOf("a")).toBeUndefined();
  });

  test("foreign lines are passed over", async () => {
    await writeFile(path, 'null\n[]\n{"result":{}}\n{"id":7,"result":{}}\n\n');
    const journal = open();
    await journal.record("a", done(1));
    expect((await open().find("a"))?.result).toEqual({ ok: true, n: 1 });
  });
});
