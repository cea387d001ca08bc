import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileLock, isHeld, lockExclusively } from "../../src/embedded/server-lock.js";
import { temporaryDirectory } from "./helpers.js";

function openLock(path: string): FileLock {
  const lock = new FileLock(path);
  onTestFinished(() => lock.close());
  return lock;
}

test("several share a lock, and only the last one gets it alone", async () => {
  const path = join(await temporaryDirectory(), "lock");
  const [first, second] = [openLock(path), openLock(path)];
  expect(first.tryShared()).toBe(true);
  expect(second.tryShared()).toBe(true);
  expect(first.tryExclusive()).toBe(false);
  second.unlock();
  expect(first.tryExclusive()).toBe(true);
  expect(second.tryShared()).toBe(false);
});

test("a lock that was tried alone can be shared afterwards", async () => {
  const path = join(await temporaryDirectory(), "lock");
  const [first, second] = [openLock(path), openLock(path)];
  expect(first.tryExclusive()).toBe(true);
  expect(first.tryShared()).toBe(true);
  expect(second.tryShared()).toBe(true);
});

test("to ask whether a lock is held takes nothing", async () => {
  const path = join(await temporaryDirectory(), "lock");
  expect(isHeld(path)).toBe(false);
  const lock = await lockExclusively(path, {});
  expect(isHeld(path)).toBe(true);
  lock.close();
  expect(isHeld(path)).toBe(false);
});

test("a waiter says once that it waits, and gets the lock when it is free", async () => {
  const path = join(await temporaryDirectory(), "lock");
  const holder = await lockExclusively(path, {});
  let waits = 0;
  const waiter = await lockExclusively(path, {
    onWait: () => {
      waits += 1;
      holder.close();
    },
  });
  expect(waits).toBe(1);
  expect(isHeld(path)).toBe(true);
  waiter.close();
});

test("a waiter can be called off, with the reason given", async () => {
  const path = join(await temporaryDirectory(), "lock");
  const holder = await lockExclusively(path, {});
  const controller = new AbortController();
  const reason = new Error("not today");
  const waiting = lockExclusively(path, {
    signal: controller.signal,
    onWait: () => controller.abort(reason),
  });
  await expect(waiting).rejects.toBe(reason);
  holder.close();
  expect(isHeld(path)).toBe(false);
});
