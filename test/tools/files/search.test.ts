import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolResult } from "../../../src/core/tools/tool-result.js";
import type { SearchArguments } from "../../../src/core/tools/tool-specs.js";
import { SEARCH_BOUNDS, type SearchBounds, searchFiles } from "../../../src/tools/files/search.js";
import { parsePattern } from "../../../src/tools/files/search-pattern.js";
import { turnsDuring } from "../../fakes/other-work.js";
import { Scratch, codeOf } from "../scratch.js";

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});
afterEach(() => scratch.finish());

function search(
  pattern: string,
  args: Partial<SearchArguments> = {},
  options: { maxReadBytes?: number; signal?: AbortSignal; bounds?: Partial<SearchBounds> } = {},
): Promise<ToolResult> {
  return searchFiles(
    scratch.workspace,
    { path: "@project", pattern, ...args },
    { maxReadBytes: options.maxReadBytes ?? 50_000 },
    options.signal,
    { ...SEARCH_BOUNDS, maxDurationMs: Number.POSITIVE_INFINITY, ...options.bounds },
  );
}

interface Match {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

function matchesOf(result: ToolResult): readonly Match[] {
  if (!result.ok) throw new Error(result.error.message);
  return result["matches"] as unknown as Match[];
}

function placesOf(result: ToolResult): readonly string[] {
  return matchesOf(result).map(({ path, line, column }) => `${path}:${line}:${column}`);
}

describe("fs.search", () => {
  test("gives place, text and context", async () => {
    scratch.put("project/a.md", "one\ntwo\nthree two\nfour\n");
    expect(await search("two")).toEqual({
      ok: true,
      matches: [
        { path: "@project/a.md", line: 2, column: 1, text: "two", before: ["one"], after: ["three two"] },
        { path: "@project/a.md", line: 3, column: 7, text: "three two", before: ["two"], after: ["four"] },
      ],
      stats: { filesScanned: 1, matchesFound: 2 },
    });
    const bare = await search("two", { before: 0, after: 0 });
    expect(matchesOf(bare).map(({ before, after }) => [...before, ...after])).toEqual([[], []]);
    const wide = await search("three", { before: 20, after: 20 });
    expect(matchesOf(wide)).toMatchObject([{ before: ["one", "two"], after: ["four"] }]);
  });

  test("searches one file, or nothing but what is there", async () => {
    scratch.put("project/a.md", "x");
    scratch.put("project/b.md", "x");
    expect(placesOf(await search("x", { path: "@project/b.md" }))).toEqual(["@project/b.md:1:1"]);
    expect(placesOf(await search("x", { path: "@pkg" }))).toEqual([]);
  });

  test("order is that of the paths, whatever the directory says", async () => {
    const names = ["b/x.md", "a/z.md", "a.md", "a/b/c.md", "B.md", "b.md", "c/1.md", "a-b.md"];
    for (const name of names) scratch.put(`project/${name}`, "x");
    expect(matchesOf(await search("x")).map(({ path }) => path)).toEqual(
      names.map((name) => `@project/${name}`).toSorted(),
    );
  });

  test("skips hidden entries, node_modules, links, binaries and protected names", async () => {
    for (const name of [".git/x", ".hidden/x", "node_modules/m/x", "a/node_modules/x", ".env", "a/.x"]) {
      scratch.put(`project/${name}`, "x");
    }
    scratch.put("project/binary", "x\n\0");
    scratch.put("project/invalid", Buffer.from([0x78, 0xff]));
    scratch.put("project/late", Buffer.concat([Buffer.from("x\n".repeat(200_000)), Buffer.from([0xff])]));
    scratch.put("project/seen", "x");
    scratch.link("project/file-link", "seen");
    scratch.link("project/dir-link", "a");
    scratch.link("project/out", "../outside");
    expect(await search("x")).toMatchObject({
      matches: [{ path: "@project/seen" }],
      stats: { filesScanned: 1, matchesFound: 1 },
    });
    expect(placesOf(await search("x", { path: "@project/node_modules" }))).toHaveLength(1);
    expect(codeOf(await search("x", { path: "@project/.git" }))).toBe("E_SANDBOX_VIOLATION");
    expect(placesOf(await search("x", { path: "@project/.hidden" }))).toHaveLength(1);
    expect(placesOf(await search("x", { path: "@project/dir-link" }))).toEqual([]);
    expect(codeOf(await search("x", { path: "@project/.env" }))).toBe("E_SANDBOX_VIOLATION");
    expect(await search("x", { path: "@project/binary" })).toMatchObject({ matches: [] });
  });

  test("a binary's matches do not use up the limit", async () => {
    scratch.put("project/a", Buffer.concat([Buffer.from("x\n".repeat(200_000)), Buffer.from([0])]));
    scratch.put("project/b", "x");
    expect(placesOf(await search("x", { maxMatches: 1 }))).toEqual(["@project/b:1:1"]);
  });

  test("columns count UTF-16 code units; a carriage return is not part of the line", async () => {
    scratch.put("project/a", "\u{1f600}é x\r\nx\r\n");
    expect(placesOf(await search("/x$/"))).toEqual(["@project/a:1:5", "@project/a:2:1"]);
    expect(matchesOf(await search("x"))[0]).toMatchObject({ text: "\u{1f600}é x", after: ["x"] });
  });

  test("says truncated only when something was left out", async () => {
    scratch.put("project/a", "x\nx\nx\nlast");
    expect(await search("x", { maxMatches: 3 })).not.toHaveProperty("truncated");
    const cut = await search("x", { maxMatches: 2 });
    expect(cut).toMatchObject({ truncated: true, stats: { matchesFound: 2 } });
    expect(matchesOf(cut)[1]).toMatchObject({ after: ["x"] });
  });

  test("the result stays below the agent's limit", async () => {
    scratch.put("project/a", `${"x".repeat(300)}\n`.repeat(200));
    const result = await search("x", { maxMatches: 500 }, { maxReadBytes: 5000 });
    expect(result).toMatchObject({ truncated: true });
    expect(Buffer.byteLength(JSON.stringify(matchesOf(result)))).toBeLessThanOrEqual(5000);
    expect(matchesOf(result).length).toBeGreaterThan(2);
    expect(await search("x", {}, { maxReadBytes: 1 })).toMatchObject({ matches: [], truncated: true });
  });

  test("a long line is shown around the match, without splitting a character", async () => {
    scratch.put(
      "project/a",
      `${"\u{1f600}".repeat(5000)}needle${"\u{1f600}".repeat(5000)}\n${"y".repeat(900)}`,
    );
    const [match] = matchesOf(await search("needle"));
    expect(match?.column).toBe(10_001);
    expect(match?.text).toMatch(/^….*needle.*…$/u);
    expect(match?.text.length).toBeLessThan(410);
    expect(match?.text).not.toMatch(/\p{Surrogate}/u);
    expect(match?.after[0]).toBe(`${"y".repeat(400)}…`);
  });

  test("a file is streamed: matches behind many chunks and across their borders have the right place", async () => {
    const lines = Array.from({ length: 300_000 }, (_, index) => `line ${index + 1} é`);
    lines[250_000] = "the needle é";
    scratch.put("project/a", lines.join("\n"));
    const expected = { line: 250_001, column: 5, before: ["line 250000 é"], after: ["line 250002 é"] };
    expect(matchesOf(await search("needle"))).toMatchObject([expected]);
    expect(matchesOf(await search("/ne+dle/"))).toMatchObject([expected]);
  });

  test("a directory that is deeper, fuller or larger than the bounds ends as truncated", async () => {
    for (const name of ["a/b/c/d", "e", "f"]) scratch.put(`project/${name}`, "x\n".repeat(100));
    expect(await search("y", {}, { bounds: { maxDepth: 1 } })).toMatchObject({ truncated: true });
    expect(await search("y", {}, { bounds: { maxFiles: 2 } })).toMatchObject({ truncated: true });
    expect(await search("y", {}, { bounds: { maxTotalBytes: 300 } })).toMatchObject({ truncated: true });
    expect(await search("y", {}, { bounds: { maxDurationMs: 0 } })).toMatchObject({ truncated: true });
    expect(await search("y")).not.toHaveProperty("truncated");
  });

  test("a very deep tree ends", async () => {
    let path = scratch.at("project");
    for (let depth = 0; depth < 400; depth += 1) path = `${path}/d`;
    mkdirSync(path, { recursive: true });
    expect(await search("x")).toMatchObject({ ok: true, truncated: true });
  });

  test("a sparse file of a terabyte ends", async () => {
    scratch.put("project/a", "x\n");
    truncateSync(scratch.at("project/a"), 2 ** 40);
    scratch.put("project/b", "x");
    expect(placesOf(await search("x"))).toEqual(["@project/b:1:1"]);
  });

  test("an abort ends the search", async () => {
    for (let index = 0; index < 1000; index += 1)
      writeFileSync(scratch.at(`project/${index}`), "x".repeat(1000));
    expect(codeOf(await search("/y/", {}, { signal: AbortSignal.abort() }))).toBe("ENGINE_ABORTED");
    const controller = new AbortController();
    const pending = search("/(?:x?){300}x{300}y/", {}, { signal: controller.signal });
    setImmediate(() => controller.abort()); // the search pauses more often than it ends
    expect(codeOf(await pending)).toBe("ENGINE_ABORTED");
  });

  test("other work goes on meanwhile", async () => {
    scratch.put("project/a", `${"a".repeat(1000)}\n`.repeat(400));
    expect(await turnsDuring(() => search("/[ab]{1,900}[bc]{0,900}/"))).toBeGreaterThan(20);
  });
});

describe("a pattern", () => {
  test.each([
    ["(a+)+$", "nested repetition"],
    ["(a|a)*$b", "ambiguous alternation"],
    ["(.*)(.*)(.*)(.*)(.*)[^a]b", "many greedy parts"],
    ["([a-z]+)*=", "a classic"],
    ["(?:a?){500}a{500}b", "optional parts"],
    ["[ab]{1,900}[bc]{1,900}$", "bounded repetition of overlapping classes"],
    [Array.from({ length: 200 }, (_, index) => `a${index}`).join("|"), "a huge alternation"],
  ])("%s is catastrophic elsewhere and ends here: %s", async (expression) => {
    scratch.put("project/a", `${"a".repeat(30_000)}!\n`.repeat(20));
    const result = await search(`/${expression}/`, {}, { bounds: { maxDurationMs: 1000 } });
    expect(result.ok).toBe(true);
  });

  test.each([
    ["(?=a)b", "lookahead"],
    ["(?<!a)b", "lookbehind"],
    ["(a)\\1", "a backreference"],
    ["((a{100}){100}){100}", "a repetition that explodes"],
    ["a{1000}".repeat(100), "a program that is too large"],
    ["(", "an open group"],
    ["[", "an open class"],
    ["a{2000}", "a repetition over the limit"],
  ])("/%s/ is refused with a sentence: %s", async (expression) => {
    const result = await search(`/${expression}/`);
    expect(codeOf(result)).toBe("TOOL_ARGS_INVALID");
    expect(JSON.stringify(result)).toMatch(/regular expression/u);
  });

  test("flags i, m, s change what matches, g and u do not, others are refused", async () => {
    scratch.put("project/a", "Text");
    expect(placesOf(await search("/text/"))).toEqual([]);
    expect(placesOf(await search("/text/imsgu"))).toHaveLength(1);
    expect(placesOf(await search("/Text/gu"))).toHaveLength(1);
    for (const flags of ["y", "x", "constructor", "I"]) {
      expect(codeOf(await search(`/text/${flags}`))).toBe("TOOL_ARGS_INVALID");
    }
  });

  test("without a closing slash and letters it is a plain text", async () => {
    scratch.put("project/a", "/usr/local/x.y\n// TODO\n(a+)+\n/a\n//\na/b");
    for (const [pattern, line] of [
      ["/usr/local/x.y", 1],
      ["// TODO", 2],
      ["(a+)+", 3],
      ["/a", 4],
      ["//", 2],
      ["a/b", 6],
    ] as const) {
      expect(matchesOf(await search(pattern)).map((match) => match.line)).toContain(line);
    }
    expect(placesOf(await search("/a\\/b/"))).toEqual(["@project/a:6:1"]);
    expect(placesOf(await search("/\\u0061\\/b/"))).toEqual(["@project/a:6:1"]);
  });

  test("what cannot match within a line, or is no text, is refused", async () => {
    for (const pattern of ["", "a\nb", "\ud800", "x".repeat(1001)]) {
      expect(codeOf(await search(pattern))).toBe("TOOL_ARGS_INVALID");
    }
  });

  test("no part of a line beyond the bound counts, and the end of the part is not the end of the line", async () => {
    const { maxLineLength } = parsePattern("/a$/");
    scratch.put("project/a", `${"a".repeat(maxLineLength + 1)}b\nba`);
    expect(await search("/a$/")).toMatchObject({ truncated: true, matches: [{ line: 2, column: 2 }] });
  });
});
