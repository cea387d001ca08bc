import { appendFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { backupStore } from "../../../src/store/backup/backup-store.js";
import { Pieces } from "../../../src/store/backup/pieces.js";
import { restoreStore } from "../../../src/store/backup/restore-store.js";
import { openStore } from "../../../src/store/store.js";
import { essence, openBackupWorld } from "./backup-world.js";

/** Does something once, in the middle of a backup: when it has taken the first run. */
function onceInTheMiddle(action: () => void): void {
  const spy = vi.spyOn(Pieces.prototype, "keepText").mockImplementation(function (this: Pieces, text) {
    spy.mockRestore();
    const piece = this.keepText(text);
    if (this.dir.includes("/runs/")) action();
    else onceInTheMiddle(action);
    return piece;
  });
}

test("a run that is pruned while the others are taken is neither in the backup nor in its index", async () => {
  const world = await openBackupWorld();
  for (let n = 0; n < 5; n += 1) await world.newRun();
  const last = await world.newRun();
  const { dir } = await world.filesOf(last);
  const index = join(dirname(dirname(dir)), "runs.jsonl");
  onceInTheMiddle(() => {
    appendFileSync(index, `${JSON.stringify({ runId: last, pruned: "2026-01-01T00:00:00.000Z" })}\n`);
    rmSync(dir, { recursive: true });
  });
  const { notTaken, runs, bytes, copied } = await backupStore(world.store.dir, world.backup);
  expect([notTaken, runs]).toEqual([[], 6]);
  const to = join(world.dir, "there");
  expect((await restoreStore(world.backup, to)).bytes).toBe(bytes);
  expect(copied.bytes).toBeLessThan(2 * bytes);
  expect(await essence(to)).toEqual(await essence(world.store.dir));
  expect(await (await openStore(to)).runs.listAllRuns()).toHaveLength(6);
});

test("a run that is gone in the middle while the index lists it is named", async () => {
  const world = await openBackupWorld();
  for (let n = 0; n < 5; n += 1) await world.newRun();
  const { dir } = await world.filesOf(await world.newRun());
  onceInTheMiddle(() => rmSync(dir, { recursive: true }));
  const { notTaken, runs } = await backupStore(world.store.dir, world.backup);
  expect(notTaken).toMatchObject([{ why: expect.stringContaining(`${dir} is missing`) }]);
  expect(runs).toBe(6);
});
