import { appendFile, chmod, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/core/json.js";
import {
  AppendLog,
  LineTooLong,
  MAX_LINE_BYTES,
  parseLine,
  toLine,
} from "../../../src/store/disk/append-log.js";
import type { LinePosition } from "../../../src/store/disk/line-index.js";
import { readTree, temporaryDirectory } from "../../fakes/package-fixture.js";
import { withoutRights } from "../../fakes/unprivileged.js";

let path: string;
let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
  path = join(dir, "log.jsonl");
});

function openLog() {
  const lines: string[] = [];
  const positions: LinePosition[] = [];
  const log = new AppendLog(path, join(dir, "log.lock"), (line, position) => {
    lines.push(line.toString("utf8"));
    positions.push(position);
  });
  return { log, lines, positions };
}

const text = () => readFile(path, "utf8");

describe("an append log", () => {
  test("is private, holds one line per record, and tells each line once", async () => {
    const { log, lines } = openLog();
    await log.append(() => [{ n: 1 }, { n: 2 }]);
    await log.append(() => []);
    await log.append(() => [{ n: 3 }]);
    expect(await text()).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
    expect(lines).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("decides with everything before it read, others' lines included", async () => {
    const one = openLog();
    const other = openLog();
    await one.log.append(() => [{ by: "one" }]);
    await other.log.append(() => [{ after: other.lines.length }]);
    await one.log.append(() => [{ after: one.lines.length }]);
    expect(await text()).toBe('{"by":"one"}\n{"after":1}\n{"after":2}\n');
    await other.log.refresh();
    expect(other.lines).toEqual(one.lines);
  });

  test("gives records back by their place, in the order that is asked for", async () => {
    const { log, positions } = openLog();
    await log.append(() => [{ t: "é\u{1f600}" }, { t: "x".repeat(700_000) }, { t: "last" }]);
    const [first, second, third] = positions as [LinePosition, LinePosition, LinePosition];
    expect(log.readAt([third, first])).toEqual([{ t: "last" }, { t: "é\u{1f600}" }]);
    expect(log.readAt([second])).toEqual([{ t: "x".repeat(700_000) }]);
    expect(log.readAt([])).toEqual([]);
  });

  test("calls in one process keep each other's lines whole", async () => {
    const { log } = openLog();
    const { log: other } = openLog();
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        (n % 2 === 0 ? log : other).append(() => [{ n, fill: "x".repeat(5_000) }]),
      ),
    );
    const numbers = (await text())
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { n: number }).n);
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
  });

  test("a failing decision appends nothing and lets go of the lock", async () => {
    const { log } = openLog();
    await expect(
      log.append(() => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    await log.append(() => [{ n: 1 }]);
    expect(await text()).toBe('{"n":1}\n');
  });
});

describe("long lines", () => {
  test("each byte of a line is copied twice at most, however long the line is", async () => {
    const line = JSON.stringify({ fill: "x".repeat(20_000_000) });
    await writeFile(path, `${line}\n{"n":1}\n${line}\n`);
    const { log, lines } = openLog();
    const copied = vi.spyOn(Buffer, "concat");
    await log.refresh();
    const bytes = copied.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    copied.mockRestore();
    expect(lines.map(({ length }) => length)).toEqual([line.length, 7, line.length]);
    expect(bytes).toBeLessThanOrEqual(line.length * 2 + 7);
  });

  test("one that is longer than a line may be is refused where it stands, and nothing is written after it", async () => {
    await writeFile(path, '{"n":1}\n');
    await appendFile(path, Buffer.alloc(MAX_LINE_BYTES + 1, "x"));
    const { log, lines } = openLog();
    await expect(log.append(() => [{ n: 2 }])).rejects.toThrow(LineTooLong);
    await expect(log.refresh()).rejects.toThrow("log.jsonl: the line at byte 8 is longer than");
    expect(lines).toEqual(['{"n":1}']);
    expect((await stat(path)).size).toBe(8 + MAX_LINE_BYTES + 1);
  });

  test("one that was to be written is refused, and the log goes on", async () => {
    const { log, lines } = openLog();
    const fill = "x".repeat(MAX_LINE_BYTES);
    await expect(log.append(() => [{ n: 1 }, { fill }])).rejects.toThrow("that was to be written");
    await log.append(() => [{ n: 2 }]);
    expect(lines).toEqual(['{"n":2}']);
  });
});

describe("a line that a crash tore", () => {
  test("is ended, told as it is, and said to be torn; what is in the file stays", async () => {
    await writeFile(path, '{"n":1}\n{"n":2,"te');
    const { log, lines } = openLog();
    const torn: boolean[] = [];
    const decide = (isTorn: boolean) => {
      torn.push(isTorn);
      return [{ n: 3 }];
    };
    await log.append(decide);
    await log.append(decide);
    expect(torn).toEqual([true, false]);
    expect(await text()).toBe('{"n":1}\n{"n":2,"te\n{"n":3}\n{"n":3}\n');
    expect(lines).toEqual(['{"n":1}', '{"n":2,"te', '{"n":3}', '{"n":3}']);
  });

  test("is ended by a reader as well", async () => {
    await writeFile(path, '{"n":');
    const { log, lines } = openLog();
    await log.refresh();
    await log.refresh();
    expect([await text(), lines]).toEqual(['{"n":\n', ['{"n":']]);
  });

  test("that was torn inside a character is no record", async () => {
    await writeFile(path, Buffer.from('{"t":"é').subarray(0, -1));
    const { log } = openLog();
    await log.append(() => [{ n: 1 }]);
    expect(parseLine(Buffer.from((await text()).split("\n")[0] ?? ""))).toBeUndefined();
  });

  test("appended by somebody else between two calls is seen", async () => {
    const { log, lines } = openLog();
    await log.append(() => [{ n: 1 }]);
    await appendFile(path, "half");
    await log.append((torn) => [{ torn }]);
    expect(lines).toEqual(['{"n":1}', "half", '{"torn":true}']);
  });
});

test("a file that was cut shorter from outside is gone on with at its end", async () => {
  const { log } = openLog();
  await log.append(() => [{ n: 1 }, { n: 2 }]);
  await truncate(path, 8);
  await log.append(() => [{ n: 3 }]);
  expect(await text()).toBe('{"n":1}\n{"n":3}\n');
});

describe("a line", () => {
  test.each([
    "\n",
    "\r\n",
    "\u2028\u2029\u0085",
    "\u0000\u001b\u007f",
    "\ufeff\uffff",
    "\ud800 and \udfff alone",
    '"quoted" \\ back',
    "\u{1f600}",
  ])("is one physical line whatever is in it: %j", (value) => {
    const line = toLine({ value, [value]: 1 });
    expect(line).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029\ufeff]/u);
    expect(parseLine(Buffer.from(line))).toEqual({ value, [value]: 1 });
  });

  test("says what its record says", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { noNullPrototype: true }),
        (record) => {
          const line = toLine(record as JsonObject);
          expect(line.split(/[\n\r\u2028\u2029\u0085]/u)).toHaveLength(1);
          expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(record)));
        },
      ),
      { numRuns: 400, seed: 2 },
    );
  });

  test.each(["", "null", "1", "[]", '"x"', "{", '{"a":1} x'])("%j is no record", (line) => {
    expect(parseLine(Buffer.from(line))).toBeUndefined();
  });
});

describe("a log that may only be read", () => {
  test("is read by whoever only looks, as far as its lines are whole, and changed by nobody", async () => {
    const kept = openLog();
    await kept.log.append(() => [{ n: 1 }, { n: 2 }]);
    await appendFile(path, '{"n":');
    const before = await readTree(dir);
    await withoutRights(dir, async () => {
      await chmod(path, 0o400);
      await chmod(join(dir, "log.lock"), 0o400);
      await chmod(dir, 0o500);
      const looking = openLog();
      await looking.log.refresh();
      expect(looking.lines).toEqual(['{"n":1}', '{"n":2}']);
      expect(looking.log.readAt(looking.positions)).toEqual([{ n: 1 }, { n: 2 }]);
      await expect(looking.log.append(() => [{ n: 3 }])).rejects.toThrow("EACCES");
      const claim = { isHeld: () => true, assertHeld: () => undefined };
      const owned = new AppendLog(path, join(dir, "log.lock"), () => undefined, { owner: claim });
      await expect(owned.refresh()).rejects.toThrow("EACCES"); // an execution would go on without being able to write
    });
    await chmod(dir, 0o700);
    expect(await readTree(dir)).toEqual(before);
  });
});
