import type * as fs from "node:fs";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import {
  brokenOutput,
  outlastFullDisk,
  printLogLine,
  watchOutput,
} from "../../../src/cli/terminal/output.js";

const disk = vi.hoisted(() => ({ isFull: true, holds: "" }));
vi.mock("node:fs", async (original) => ({
  ...(await original<typeof fs>()),
  writeSync(_: number, bytes: Buffer): number {
    if (disk.isFull)
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    disk.holds += bytes.toString();
    return bytes.length;
  },
}));

const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
beforeEach(() => void written.mockClear());
afterAll(() => {
  written.mockRestore();
  process.stderr.removeAllListeners("error");
});

test("a log on a disk that was full goes on when there is room: what was cut off ends with its line", () => {
  watchOutput();
  outlastFullDisk();
  printLogLine('{"n":1}\n');
  process.stderr.emit("error", Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
  printLogLine('{"n":2}\n');
  disk.isFull = false;
  printLogLine('{"n":3}\n');
  printLogLine('{"n":4}\n');
  expect(written.mock.calls).toEqual([['{"n":1}\n']]);
  expect(disk.holds).toBe('\n{"n":3}\n{"n":4}\n');
  expect(brokenOutput()).toBeUndefined();
});
