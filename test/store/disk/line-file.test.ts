import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";
import { LineFile } from "../../../src/store/disk/line-file.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const MIB = 1024 * 1024;

let path: string;
let file: LineFile;
beforeEach(async () => {
  path = join(await temporaryDirectory(), "lines.jsonl");
  file = new LineFile(path);
});

/** What is read, and how many bytes of room were made for it. */
function readCounted(): { readonly text: string; readonly bytes: number } {
  const rooms = vi.spyOn(Buffer, "allocUnsafe");
  let text = "";
  file.readNew(
    () => undefined,
    (lines) => (text += lines),
  );
  const bytes = rooms.mock.calls.reduce((sum, [size]) => sum + size, 0);
  rooms.mockRestore();
  return { text, bytes };
}

describe("a file of lines", () => {
  test.each([10, 40])(
    "with a line of %i MiB is read at most three times, however long the line is",
    async (size) => {
      const text = `${"x".repeat(size * MIB)}\n${"short\n".repeat(3)}`;
      await writeFile(path, text);
      const read = readCounted();
      expect(read.text === text).toBe(true);
      expect(read.bytes).toBeLessThanOrEqual(3 * text.length);
    },
  );

  test("of many chunks is read once, and what is new is read alone", async () => {
    const text = `${"x".repeat(99)}\n`.repeat(30_000);
    await writeFile(path, text);
    const read = readCounted();
    expect(read.text === text).toBe(true);
    expect(read.bytes).toBeLessThanOrEqual(text.length + 3 * 100);
    await file.append("new\n", NO_LOCK);
    expect(readCounted()).toEqual({ text: "new\n", bytes: 4 });
    await appendFile(path, "tor");
    expect(readCounted().text).toBe("");
    await file.append("whole\n", NO_LOCK);
    expect(readCounted().text).toBe("whole\n");
  });
});
