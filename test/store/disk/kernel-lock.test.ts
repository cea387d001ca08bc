import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { lockExclusively } from "../../../src/embedded/server-lock.js";
import { withFileLock } from "../../../src/store/disk/fenced-lock.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

/** What the native part throws; null: it has the lock. */
let refused: Error | null = null;

vi.mock("fs-native-extensions", () => ({
  tryLock: () => {
    if (refused === null) return true;
    throw refused;
  },
  unlock: () => undefined,
}));

/** As the native part throws it: libuv's name and words, which for ENOLCK it does not have. */
function thrown(code: string, words = code): Error {
  return Object.assign(new Error(words), { code });
}

async function nothing(): Promise<void> {
  await Promise.resolve();
}

test.each([
  [thrown("Unknown system error -37"), "ENOLCK"],
  [thrown("Unknown system error -77"), "ENOLCK"],
  [thrown("ENOSYS", "function not implemented"), "ENOSYS"],
  [thrown("ENOTSUP", "operation not supported on socket"), "ENOTSUP"],
])("a file system without locks is named, with its place and what helps: %s", async (error, code) => {
  const path = join(await temporaryDirectory(), "x.lock");
  refused = error;
  const sentence = `${path} cannot be locked (${code}). Put it on a file system with kernel locks, such as a local disk.`;
  await expect(withFileLock(path, nothing)).rejects.toMatchObject({
    code,
    message: sentence,
  });
  await expect(lockExclusively(path, {})).rejects.toMatchObject({ code, message: sentence });
});

test("whatever else goes wrong with a lock is thrown as it is", async () => {
  refused = thrown("EBADF", "bad file descriptor");
  const path = join(await temporaryDirectory(), "x.lock");
  await expect(withFileLock(path, nothing)).rejects.toBe(refused);
});
