import { expect, test } from "vitest";
import {
  closedWords,
  isDenied,
  isUnreadNow,
  mayPass,
  notStartedWords,
  readingWords,
  requireSystemCode,
  systemCode,
  systemWords,
  unreadFault,
  unlessUnreadNow,
  unreadNow,
  wordsOf,
  writeRemedy,
} from "../../src/core/system-code.js";

/** As Node throws it. */
function thrown(code: string, words = code): Error {
  return Object.assign(new Error(`${code}: ${words}, write`), { code });
}

test.each([122, 69])("a quota that is used up has a name, on Linux as on macOS: %i", (errno) => {
  const error = thrown(`Unknown system error -${errno}`);
  expect(systemCode(error)).toBe("EDQUOT");
  expect(systemWords(error)).toBe("EDQUOT: disk quota exceeded, write");
  expect([wordsOf(error), wordsOf("gone")]).toEqual(["EDQUOT: disk quota exceeded, write", "gone"]);
});

test.each([37, 77])("a server of files that keeps no locks has a name: %i", (errno) => {
  const error = Object.assign(new Error(`Unknown system error -${errno}`), {
    code: `Unknown system error -${errno}`,
  });
  expect([systemCode(error), systemWords(error)]).toEqual(["ENOLCK", "ENOLCK: no locks available"]);
  expect(mayPass(systemCode(error))).toBe(true);
});

test("other errors keep their code and their words", () => {
  const full = thrown("ENOSPC", "no space left on device");
  expect([systemCode(full), systemWords(full)]).toEqual(["ENOSPC", "ENOSPC: no space left on device, write"]);
  const other = thrown("Unknown system error -1220");
  expect([systemCode(other), systemWords(other)]).toEqual(["Unknown system error -1220", other.message]);
});

test("what helps against a full disk is room, whatever else is known of the place", () => {
  const remedies = ["ENOSPC", "EDQUOT", "EACCES"].map((code) => writeRemedy(code, "look there"));
  expect(remedies).toEqual([
    "make room there, and call again",
    "make room there, and call again",
    "look there",
  ]);
});

test("what has no code is no error of the system", () => {
  expect([new Error("EDQUOT"), Object.assign(new Error(""), { code: 7 }), "EDQUOT"].map(systemCode)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("an error that the system alone may have reported has its code, and any other is thrown on", () => {
  expect(requireSystemCode(thrown("EACCES"))).toBe("EACCES");
  const ours = new Error("a fault of ours");
  expect(() => requireSystemCode(ours)).toThrow(ours);
});

test("what cannot be read now is not said to be damaged", () => {
  expect(unreadNow("/store/roots.json", "EACCES")).toMatch(
    /^\/store\/roots\.json cannot be read now \(EACCES\)/,
  );
});

test("what a machine lacks for a moment is told from what stays until somebody sees to the place", () => {
  const codes = ["ENOSPC", "EDQUOT", "EMFILE", "EIO", "EACCES", "EROFS", "ENOTDIR"];
  expect(codes.filter(mayPass)).toEqual(["ENOSPC", "EDQUOT", "EMFILE", "EIO"]);
});

test("what cannot be read now is a fault that is tried again; any other code says more of it", () => {
  const message = unreadNow("a.md", "EIO");
  expect(unreadFault("a.md", "EIO")).toEqual({ ok: false, error: { code: "E_INTERNAL", message } });
  expect(unreadFault("a.md", "EACCES")).toBeUndefined();
  expect(unreadFault("a.md", undefined)).toBeUndefined();
});

test("what is damaged may count as none, and what cannot be read now may not", () => {
  const orNone = unlessUnreadNow("none");
  for (const code of ["EMFILE", "EACCES"]) expect(() => orNone(thrown(code))).toThrow(code);
  expect([orNone(thrown("ENOENT")), orNone(new Error("no JSON"))]).toEqual(["none", "none"]);
});

test("what belongs to somebody else is denied; a disk that is only read is something else", () => {
  expect(["EACCES", "EPERM", "EROFS", "ENOENT", undefined].map(isDenied)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test("a file that may not be read, or not at the moment, is named with what helps; anything else says its own words", () => {
  const ofFile = (code: string) => Object.assign(thrown(code), { path: "/store/run.json" });
  expect(["EACCES", "EIO", "ENOENT", undefined].map(isUnreadNow)).toEqual([true, true, false, false]);
  expect(["EACCES", "EIO"].map((code) => readingWords(ofFile(code)))).toEqual([
    unreadNow("/store/run.json", "EACCES"),
    unreadNow("/store/run.json", "EIO"),
  ]);
  expect([ofFile("ENOENT"), thrown("EACCES"), "gone"].map(readingWords)).toEqual([
    "ENOENT: ENOENT, write",
    "EACCES: EACCES, write",
    "gone",
  ]);
});

test("a path of another user's is named with what to do; any other error is not one", () => {
  const closed = Object.assign(new Error("EACCES: permission denied, rm '/store/a'"), { code: "EACCES" });
  expect(closedWords(Object.assign(closed, { path: "/store/a" }))).toBe(
    "/store/a is not open to this user (EACCES: permission denied, rm '/store/a'). See to its permissions, or call this as the user whose it is.",
  );
  expect([thrown("EACCES"), thrown("ENOENT"), "EACCES"].map(closedWords)).toEqual(Array(3).fill(undefined));
});

test("why no process is started is told where it is not the program", () => {
  expect(notStartedWords("EAGAIN")).toContain("(EAGAIN): raise the limit");
  expect([notStartedWords("ENOENT"), notStartedWords(undefined)]).toEqual([undefined, undefined]);
});
