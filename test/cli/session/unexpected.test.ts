import { expect, test } from "vitest";
import { unexpected } from "../../../src/cli/session/unexpected.js";
import { wordsOf } from "../../../src/core/system-code.js";
import { reasonOf } from "../../../src/doctor/finding.js";
import { NotOurFile } from "../../../src/store/disk/own-file.js";

test("a sentence of ours stands there as it is, without the name of an error or a system's code", async () => {
  const linked = new NotOurFile("/store/store.json", "a link");
  expect(await unexpected(linked)).toMatch(/^\/store\/store\.json is a link, .*backup\.$/);
  expect(reasonOf(linked)).toBe(await unexpected(linked));
  expect(await unexpected(new TypeError("x is no function"))).toBe("TypeError: x is no function");
  expect(await unexpected(new Error(""))).toBe("Error: ");
  expect(reasonOf(Object.assign(new Error("connection lost"), { code: "ECONNRESET" }))).toBe(
    "ECONNRESET: connection lost",
  );
});

test("a quota that is used up, for which Node has no name, is named", async () => {
  const code = "Unknown system error -122";
  const error = Object.assign(new Error(`${code}: ${code}, write`), { errno: -122, code, syscall: "write" });
  expect(await unexpected(error)).toMatch(
    /^Nothing can be written: EDQUOT: disk quota exceeded, write\. Make room/,
  );
  expect([reasonOf(error), wordsOf(error)]).toEqual(Array(2).fill("EDQUOT: disk quota exceeded, write"));
});

test("what belongs to another user is named as that, with what to do", async () => {
  const error = Object.assign(new Error("EACCES: permission denied, scandir '/store/projects'"), {
    code: "EACCES",
    syscall: "scandir",
    path: "/store/projects",
  });
  expect(await unexpected(error)).toMatch(
    /^\/store\/projects is not open to this user \(EACCES: permission denied.*\)\. See to its permissions/,
  );
});

test.each(["ENOSPC", "EDQUOT", "EROFS"])(
  "that nothing can be written (%s) is said with what to do",
  async (code) => {
    const error = Object.assign(new Error(`${code}: refused, write`), { code, syscall: "write" });
    expect(await unexpected(error)).toBe(
      `Nothing can be written: ${code}: refused, write. Make room, or make the place writable; interlock doctor says how the store stands, and TMPDIR where temporary files are made.`,
    );
  },
);
