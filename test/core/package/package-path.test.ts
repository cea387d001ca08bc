import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkPathCollisions,
  foldPath,
  isLitter,
  normalizePackagePath,
  packagePathProblem,
} from "../../../src/core/package/package-path.js";

describe("packagePathProblem", () => {
  test.each([
    "a",
    "a/b.md",
    "./a",
    "a//b",
    "a/./b",
    "...",
    "a..b",
    "..a",
    "~",
    "%2e%2e/a",
    " a ",
    "ü",
    "ab:c",
  ])("takes %j", (path) => {
    expect(packagePathProblem(path)).toBeUndefined();
  });

  test.each([
    ["", "is empty"],
    ["/a", "is absolute"],
    ["//a", "is absolute"],
    ["C:", "is absolute"],
    ["z:/a", "is absolute"],
    ["..", "contains .."],
    ["a/..", "contains .."],
    ["../a", "contains .."],
    ["a\\b", "contains a backslash"],
    ["\\\\server", "contains a backslash"],
    ["a\0", "contains a NUL byte"],
    ["a\u007f", "contains a control character"],
    ["a\u2028b", "contains a control character"],
    ["\ud800", "is not valid Unicode"],
    ["ü".repeat(128), "holds a name longer than 255 bytes"],
    ["😀".repeat(64), "holds a name longer than 255 bytes"],
    ["€".repeat(86), "holds a name longer than 255 bytes"],
    ["abcdefg/".repeat(129), "is longer than 1024 bytes"],
    ["a/".repeat(64), "is deeper than 64 folders"],
  ])("refuses %j", (path, problem) => {
    expect(packagePathProblem(path)).toContain(problem);
  });
});

test("a canonical path has no empty and no dot segments, and stays what it is", () => {
  expect(normalizePackagePath("./a//b/./c/")).toBe("a/b/c");
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", ".", "", "..b", "c")), (segments) => {
      const once = normalizePackagePath(segments.join("/"));
      expect(normalizePackagePath(once)).toBe(once);
      expect(once.split("/")).not.toContain(".");
    }),
  );
});

test("paths fold to the same when they differ by case or Unicode form, and a folded one stays", () => {
  expect(foldPath("Ä/Straße")).toBe(foldPath("a\u0308/STRASSE"));
  expect(foldPath("\u03a3\u03c2")).toBe(foldPath("\u03c3\u03c3"));
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (path) => {
      expect(foldPath(foldPath(path))).toBe(foldPath(path));
      expect(foldPath(path.normalize("NFD"))).toBe(foldPath(path.normalize("NFC")));
    }),
  );
});

test("litter is litter at any depth, and only under exactly its names", () => {
  expect([".git/config", "a/.DS_Store", "__MACOSX", "x/.svn/y"].map(isLitter)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([".github/x", "git", "a/.gitignore", "a/.ds_store"].map(isLitter)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test("paths that no file system confuses do not collide", () => {
  expect(checkPathCollisions(["a/b", "a/c", "b/a", "b.a"], ["a", "b", "empty"])).toEqual([]);
});

test("a path that is there twice, or as a file and a folder, or in another case, is a finding", () => {
  const messages = checkPathCollisions(["a", "a", "b", "A"], ["b"]).map(({ message }) => message);
  expect(messages).toHaveLength(3);
  expect(messages).toEqual(
    expect.arrayContaining([
      "is there twice: remove one",
      "is a file and a folder at once: rename one",
      expect.stringContaining("only by case or Unicode form: rename one"),
    ]),
  );
});
