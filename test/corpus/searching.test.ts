import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Case, runCases, sharedWorld, that } from "./cases.js";
import { fileContent } from "./project-tree.js";

const ARGS = "TOOL_ARGS_INVALID";
const world = sharedWorld();

type Match = { path: string; line: number; column: number; text: string; before: string[]; after: string[] };
const matchesOf = (result: unknown) => (result as { matches: Match[] }).matches;

const search = (pattern: string, more: object = {}): Pick<Case, "tool" | "args"> => ({
  tool: "fs.search",
  args: { path: "@project", pattern, ...more },
});

describe("what is walked", () => {
  runCases(world, [
    {
      name: "visible text files in order; nothing hidden, no dependency, no link, no secret",
      ...search("needle"),
      expect: "ok",
      verify: ({ result }) =>
        that(matchesOf(result).map(({ path, line }) => `${path}:${line}`)).toEqual([
          "@project/long-line.txt:1",
          "@project/src/deep/er/file.txt:1",
          "@project/src/main.ts:1",
        ]),
    },
    {
      name: "a hidden directory that was named",
      ...search("needle", { path: "@project/.hidden" }),
      expect: "ok",
      result: { matches: [{ path: "@project/.hidden/inner.txt" }] },
    },
    {
      name: "a dependency that was named",
      ...search("needle", { path: "@project/node_modules/dep" }),
      expect: "ok",
      result: { stats: { filesScanned: 1, matchesFound: 1 } },
    },
    {
      name: "one file",
      ...search("gamma", { path: "@project/notes.txt" }),
      expect: "ok",
      result: {
        matches: [
          { path: "@project/notes.txt", line: 3, column: 1, text: "gamma", before: ["beta"], after: [] },
        ],
        stats: { filesScanned: 1, matchesFound: 1 },
      },
    },
    {
      name: "the package",
      ...search("entryNodeId", { path: "@pkg" }),
      expect: "ok",
      result: { stats: { matchesFound: 1 } },
    },
    {
      name: "the log, which shows no content",
      ...search("never-to-be-seen", { path: "@state" }),
      expect: "ok",
    },
    { name: "what is not there", ...search("x", { path: "@project/nowhere" }), expect: "ENOENT" },
  ]);
});

describe("plain patterns", () => {
  const lines = fileContent("notes.txt").toString().split("\n").slice(0, -1);
  runCases(
    world,
    [
      "a",
      "alpha",
      "lph",
      "ta",
      ".",
      ".*",
      "a+",
      "^a",
      "a$",
      "[a]",
      "(a)",
      "a|b",
      "\\w",
      "\\",
      "*",
      "?",
      "$&",
      "A",
    ].map((pattern): Case => ({
      name: pattern,
      ...search(pattern, { path: "@project/notes.txt", before: 0, after: 0 }),
      expect: "ok",
      verify: ({ result }) =>
        that(matchesOf(result).map(({ line, column, text }) => ({ line, column, text }))).toEqual(
          lines.flatMap((text, index) =>
            text.includes(pattern) ? [{ line: index + 1, column: text.indexOf(pattern) + 1, text }] : [],
          ),
        ),
    })),
  );
  runCases(world, [
    { name: "a line break", ...search("alpha\nbeta"), expect: ARGS },
    { name: "half a surrogate pair", ...search("\ud83d"), expect: ARGS },
    { name: "a NUL is in no text file", ...search("\0"), expect: "ok", result: { matches: [] } },
    {
      name: "an emoji",
      ...search("😀", { path: "@project/multi.txt" }),
      expect: "ok",
      result: { matches: [{ line: 2, column: 6 }] },
    },
    { name: "one slash", ...search("/"), expect: "ok" },
    { name: "two slashes", ...search("//"), expect: "ok" },
  ]);
});

describe("regular expressions", () => {
  const lines = fileContent("notes.txt").toString().split("\n").slice(0, -1);
  const patterns: readonly [string, RegExp][] = [
    ["/a/", /a/],
    ["/^a/", /^a/],
    ["/a$/", /a$/],
    ["/ALPHA/i", /ALPHA/i],
    ["/ALPHA/", /ALPHA/],
    ["/[aeiou]{2}/", /[aeiou]{2}/],
    ["/m+/g", /m+/],
    ["/(?:al|ga)/u", /(?:al|ga)/],
    ["/\\bb/", /\bb/],
    ["/\\w+a$/m", /\w+a$/m],
    ["/./s", /./s],
    ["/x*/", /x*/],
    ["/(a)(l)?/", /(a)(l)?/],
    ["/[^a-l]/", /[^a-l]/],
    ["/a|b|c/gimsu", /a|b|c/i],
    ["/\\//", /\//],
    ["/./", /./],
    ["/\\d/", /\d/],
    ["/\\x61/", /\x61/],
    ["/\\u0061/", /\u0061/],
    ["/[\\x61-\\x63]+/", /[\x61-\x63]+/],
    ["/\\Aalpha\\z/", /^alpha$/],
    ["/a\\.|\\*|ta/", /a\.|\*|ta/],
  ];
  runCases(
    world,
    patterns.map(([pattern, expression]): Case => ({
      name: pattern,
      ...search(pattern, { path: "@project/notes.txt", before: 0, after: 0 }),
      expect: "ok",
      verify: ({ result }) =>
        that(matchesOf(result).map(({ line, column }) => [line, column])).toEqual(
          lines.flatMap((text, index) => {
            const found = expression.exec(text);
            return found === null ? [] : [[index + 1, found.index + 1]];
          }),
        ),
    })),
  );
  runCases(
    world,
    [
      "/(/",
      "/)/",
      "/[/",
      "/*/",
      "/a**/",
      "/a{2,1}/",
      "/a{1001}/",
      "/(a{1000}){1000}/",
      "/(?=a)/",
      "/(?!a)/",
      "/(?<=a)b/",
      "/(?<!a)b/",
      "/(a)\\1/",
      "/(?<n>a)\\k<n>/",
      "/\\p{NoSuchScript}/",
      "/\\k/",
      "/a\\Z/",
      "/\\Ga/",
      "/\\8/",
      "/\\u41/",
      "/\\x4/",
      "/\\c1/",
      "/\\/",
      "/[z-a]/",
      "/a/x",
      "/a/y",
      "/a/gix",
      "/\ud800/",
      `/${"a{500}".repeat(100)}/`,
    ].map((pattern): Case => ({
      name: `refused: ${pattern.slice(0, 40)}`,
      ...search(pattern),
      expect: ARGS,
    })),
  );

  test("what would run for ages elsewhere ends", async () => {
    expect.hasAssertions();
    const bait = `${"a".repeat(30_000)}!\n${"ab".repeat(20_000)}\n${"x".repeat(100)}\n`.repeat(4);
    writeFileSync(join(world().base, "project/bait.txt"), bait);
    world().arranged();
    const patterns = [
      "/(a+)+$/",
      "/(a|a)*$/",
      "/(a|aa)+$/",
      "/^(([a-z])+.)+[A-Z]([a-z])+$/",
      "/(.*)*x$/",
      "/(a*)*b$/",
      "/(?:a?){500}a{500}/",
      "/([a-z]*)*[0-9]/",
      "/(x+x+)+y/",
      "/^(a?){300}$/",
      "/(\\w+\\s?)*$/i",
      "/(.|.|.)*z/s",
    ];
    for (const pattern of patterns) {
      const { result } = await world().call({
        tool: "fs.search",
        args: { path: "@project/bait.txt", pattern },
      });
      that(result, pattern).toMatchObject({ ok: true });
    }
  });
});

describe("limits", () => {
  runCases(world, [
    {
      name: "matches, and says that there are more",
      ...search("0123", { path: "@project/long.txt", maxMatches: 3 }),
      expect: "ok",
      result: { truncated: true, stats: { matchesFound: 3 } },
    },
    {
      name: "exactly as many matches are not truncated",
      ...search("a", { path: "@project/notes.txt", maxMatches: 3 }),
      expect: "ok",
      verify: ({ result }) => that(result).not.toHaveProperty("truncated"),
    },
    {
      name: "fifty unless told",
      ...search("0123", { path: "@project/long.txt" }),
      expect: "ok",
      result: { truncated: true, stats: { matchesFound: 50 } },
    },
    {
      name: "bytes of a result stay within what the agent may read",
      ...search("0", { path: "@project/long.txt", maxMatches: 500, before: 20, after: 20 }),
      expect: "ok",
      result: { truncated: true },
      verify: ({ result }) => that(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(51_000),
    },
    {
      name: "a tight agent sees little",
      ...search("needle"),
      agent: "tight",
      expect: "ok",
      result: { truncated: true },
      verify: ({ result }) => that(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(300),
    },
    {
      name: "a long line is cut around the match",
      ...search("needle", { path: "@project/long-line.txt" }),
      expect: "ok",
      verify: ({ result }) => {
        const [match] = matchesOf(result);
        that(match?.column).toBe(70_002);
        that(match?.text.length).toBeLessThan(500);
        that(match?.text).toContain("needle");
      },
    },
    {
      name: "a cut splits no character",
      ...search("😀", { path: "@project/wide.txt" }),
      expect: "ok",
      verify: ({ result }) => that(matchesOf(result)[0]?.text.isWellFormed()).toBe(true),
    },
    {
      name: "context at the edges of a file",
      ...search("alpha", { path: "@project/notes.txt", before: 5, after: 5 }),
      expect: "ok",
      result: { matches: [{ before: [], after: ["beta", "gamma"] }] },
    },
  ]);
});

describe("secrets", () => {
  runCases(world, [
    {
      name: "of .env files are not found",
      ...search("never-to-be-seen"),
      expect: "ok",
      result: { matches: [], stats: { matchesFound: 0 } },
    },
    {
      name: "in an ordinary file are shown to the model and not to the log",
      ...search("api_key"),
      expect: "ok",
      result: { stats: { matchesFound: 1 } },
    },
    {
      name: "as a pattern do not stand in the log",
      ...search("sk-corpus0123456789abcdefABCDEF"),
      expect: "ok",
    },
  ]);
});
