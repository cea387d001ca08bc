import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  describeAliasPath,
  formatAliasPath,
  isStateDocument,
  parseAliasPath,
  plainProjectPath,
} from "../../../src/core/tools/alias-path.js";

function parsed(path: string) {
  const result = parseAliasPath(path);
  if (!result.ok) throw new Error(`${path}: ${result.error.message}`);
  return result.value;
}

function refusal(path: string): string | undefined {
  const result = parseAliasPath(path);
  return result.ok ? undefined : result.error.code;
}

describe("parseAliasPath", () => {
  test.each([
    ["@project", "@project"],
    ["@project/", "@project"],
    ["@pkg/steps/a.md", "@pkg/steps/a.md"],
    ["@state/./workflow.md", "@state/workflow.md"],
    ["@state//workflow.md/", "@state/workflow.md"],
    ["@project/./a/.//b", "@project/a/b"],
  ])("%s is %s", (path, canonical) => {
    expect(formatAliasPath(parsed(path))).toBe(canonical);
  });

  test.each([
    ["an empty path", ""],
    ["no mount", "project/a"],
    ["an unknown mount", "@home/a"],
    ["another case", "@Project/a"],
    ["a longer mount name", "@projectx/a"],
    ["a space before", " @project/a"],
    ["a space after the mount", "@project /a"],
    ["an absolute path", "/etc/passwd"],
    ["a drive path", "C:\\x"],
    ["a UNC path", "\\\\server\\share"],
    ["a URL", "file:///etc/passwd"],
    ["a home directory", "~/x"],
    ["a backslash after the mount", "@project\\..\\x"],
    ["a dot segment for a mount", "./@project/a"],
    ["two at signs", "@@project/a"],
    ["only an at sign", "@"],
    ["a full-width at sign", "＠project/a"],
    ["a NUL byte", "@project/a\0b"],
    ["a NUL byte in the mount", "@project\0/a"],
    ["a leading ..", "@project/../x"],
    ["a .. in the middle", "@project/a/../b"],
    ["a final ..", "@project/a/.."],
    ["a .. before a slash", "@project/../"],
  ])("a path with %s is a sandbox violation", (_, path) => {
    expect(refusal(path)).toBe("E_SANDBOX_VIOLATION");
  });

  test.each([
    "%2e%2e",
    "%2F..%2f",
    "．．",
    "..\\x",
    "...",
    ". .",
    ".. ",
    " ",
    "a ",
    "~",
    "$HOME",
    "C:",
    "a\nb",
    "*",
    "é",
    "e\u0301",
  ])("%j is an ordinary name, taken as it is", (name) => {
    expect(parsed(`@project/${name}`).segments).toEqual(name.split("/"));
  });

  test("what no file system could hold is a wrong argument", () => {
    expect(refusal(`@project/${"a".repeat(256)}`)).toBe("TOOL_ARGS_INVALID");
    expect(refusal(`@project/${"é".repeat(128)}`)).toBe("TOOL_ARGS_INVALID");
    expect(refusal(`@project/${"a/".repeat(256)}`)).toBe("TOOL_ARGS_INVALID");
    expect(refusal(`@project/${"a".repeat(200)}/`.padEnd(4097, "b/"))).toBe("TOOL_ARGS_INVALID");
    expect(refusal("@project/\ud800")).toBe("TOOL_ARGS_INVALID");
    expect(refusal(`@project/${"a".repeat(255)}`)).toBeUndefined();
    expect(refusal(`@project/${"a/".repeat(255)}`)).toBeUndefined();
    expect(refusal("@project/\u{1f600}")).toBeUndefined();
  });

  test("no fault repeats the path it refuses", () => {
    for (const path of [
      "/very/private",
      "@project/../very/private",
      "@project/very/private\0",
      "@very/private",
    ]) {
      expect(JSON.stringify(parseAliasPath(path))).not.toContain("private");
    }
  });

  test("what is accepted has clean segments and one spelling", () => {
    fc.assert(
      fc.property(hostilePath, (path) => {
        const result = parseAliasPath(path);
        if (!result.ok) return;
        const { segments } = result.value;
        for (const segment of segments) {
          expect(segment).not.toMatch(/^(|\.|\.\.)$/u);
          expect(segment).not.toMatch(/[/\0]/u);
        }
        const canonical = formatAliasPath(result.value);
        expect(parsed(canonical)).toEqual(result.value);
        // Nothing was decoded or normalised: the segments are those of the text.
        expect(
          path
            .split("/")
            .slice(1)
            .filter((name) => name !== "" && name !== "."),
        ).toEqual(segments);
      }),
      { numRuns: 2000, seed: 7 },
    );
  });

  test("a .. segment or a NUL byte anywhere is never accepted", () => {
    fc.assert(
      fc.property(hostilePath, fc.constantFrom("/../", "/..", "\0"), fc.nat(), (path, evil, at) => {
        const index = path.length === 0 ? 0 : at % path.length;
        const text = `${path.slice(0, index)}${evil}${path.slice(index)}`;
        fc.pre(text.split("/").includes("..") || text.includes("\0"));
        expect(parseAliasPath(text).ok).toBe(false);
      }),
      { numRuns: 2000, seed: 7 },
    );
  });
});

const piece = fc.constantFrom(
  "@project",
  "@state",
  "@pkg",
  "/",
  "/",
  ".",
  "..",
  "a",
  "b.md",
  "\\",
  "%2e",
  "\0",
  "é",
  " ",
);
const hostilePath = fc.oneof(
  fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("")),
  fc.array(piece, { maxLength: 8 }).map((pieces) => `@project/${pieces.join("/")}`),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => `@state/${text}`),
);

describe("describeAliasPath", () => {
  test("a short path is named whole, a long one by its ends", () => {
    expect(describeAliasPath(parsed("@project"))).toBe("@project");
    expect(describeAliasPath(parsed("@project/a/b.md"))).toBe("@project/a/b.md");
    expect(describeAliasPath(parsed("@project/a/b/c/d.md"))).toBe("@project/a/…/d.md");
  });
});

describe("isStateDocument", () => {
  test("looks at segments, not at the spelling", () => {
    expect(isStateDocument(parsed("@state/.//workflow.md"))).toBe(true);
    expect(isStateDocument(parsed("@project/workflow.md"))).toBe(false);
    expect(isStateDocument(parsed("@state/x/workflow.md"))).toBe(false);
    expect(isStateDocument(parsed("@state/Workflow.md"))).toBe(false);
  });
});

test.each([
  ["a/b.md", "a/b.md"],
  ["./a//b.md", "a/b.md"],
  ["a/./b.md", "a/b.md"],
  ["a/../b.md", "a/../b.md"],
  [".", "."],
])("the one spelling of %s below the project is %s", (path, plain) => {
  expect(plainProjectPath(path)).toBe(plain);
});
