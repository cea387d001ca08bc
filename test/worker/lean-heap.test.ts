import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { LEAN_HEAP_FLAG } from "../../src/worker/lean-heap.js";

test("what keeps a worker's heaps small is a flag that this Node knows", () => {
  const { status, stderr } = spawnSync(process.execPath, [LEAN_HEAP_FLAG, "--eval", ""], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  const unknown = spawnSync(process.execPath, ["--heap-growing-percents=40", "--eval", ""]);
  expect(unknown.status).not.toBe(0);
});
