import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { type RunStatus, openStatusFile } from "../../../src/store/runs/status-file.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

const usage = { modelTurns: 1, toolCalls: 2, promptTokens: 3, completionTokens: 4, cost: 0 };
const status = (change: number, more: Partial<RunStatus> = {}): RunStatus => ({
  phase: "running",
  nodeId: "n",
  change,
  usage,
  ...more,
});

let path: string;
let open: () => ReturnType<typeof openStatusFile>;
beforeEach(async () => {
  const dir = await temporaryDirectory();
  path = join(dir, "status.json");
  open = () => openStatusFile(path, join(dir, "status.lock"), NO_LOCK);
});

test("there is no status before the first change", async () => {
  expect(await open().read()).toBeUndefined();
});

test("the newest change stands, privately", async () => {
  const full = status(2, {
    phase: "failed",
    fault: { code: "E_INTERNAL", message: "m" },
    question: { nodeId: "n", text: "t" },
  });
  expect(await open().write(status(1))).toBe(true);
  expect(await open().write(full)).toBe(true);
  expect(await open().read()).toEqual(full);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("the same change again is written again, an older one never", async () => {
  await open().write(status(3, { phase: "completed" }));
  expect(await open().write(status(2))).toBe(false);
  expect(await open().write(status(3, { phase: "completed", nodeId: "m" }))).toBe(true);
  expect(await open().read()).toMatchObject({ change: 3, phase: "completed", nodeId: "m" });
});

test("of changes that come all at once the newest stands, whatever their order", async () => {
  await Promise.all([4, 1, 7, 2, 6, 3, 5].map((change) => open().write(status(change))));
  expect(await open().read()).toMatchObject({ change: 7 });
});

test.each(["", "{", "null", "[]", '{"phase":"running"}'])(
  "a file that holds %j is no status, and is replaced",
  async (content) => {
    await writeFile(path, content);
    expect(await open().read()).toBeUndefined();
    expect(await open().write(status(1))).toBe(true);
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual(status(1));
  },
);
