import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { World, codeOf } from "../corpus/world.js";
import { LazyWorld } from "./lazy-world.js";
import type { Property } from "./property.js";
import { text } from "./texts.js";

/** Small files and patterns, held against a line by line search with the language's own means. */

interface SearchCase {
  /** Bytes of other lines before these: they bring these to the place where the tools cut a file into pieces. */
  readonly shift?: number;
  readonly lines: readonly string[];
  readonly end: string;
  readonly pattern: string;
  readonly before: number;
  readonly after: number;
  readonly maxMatches: number;
}

/** Expressions that both engines read alike and that take no engine long on lines as short as these. */
const expression = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      "a",
      "b",
      "c",
      "ab",
      ".",
      "[ab]",
      "[^a]",
      "\\d",
      "\\w",
      "\\s",
      "\\.",
      "^",
      "$",
      "x",
      "é",
      "\\x61",
    ),
    fc.tuple(tie("value"), tie("value")).map(([one, other]) => one + other),
    fc.tuple(tie("value"), tie("value")).map(([one, other]) => `(?:${one}|${other})`),
    fc
      .tuple(tie("value"), fc.constantFrom("*", "+", "?", "{0,2}", "*?", "{2}"))
      .map(([one, times]) => `(${one})${times}`),
  ),
})).value;

const pattern = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(expression, fc.constantFrom("", "i", "s", "gu"))
      .map(([body, flags]) => `/${body}/${flags}`),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("a", "ab", ".", "(", "[", "\\", "*", "/", "//", "/a", "a/", "é", "😀", " "),
  },
  { weight: 1, arbitrary: text },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }).map((body) => `/${body}/`) },
);

const PIECE_BYTES = 256 * 1024;
export const shift = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: PIECE_BYTES - 30, max: PIECE_BYTES + 3 }) },
);

/** As many bytes in lines of a hundred. */
export function filler(bytes: number): string {
  return `${"-".repeat(99)}\n`.repeat(Math.floor(bytes / 100)) + "-".repeat(bytes % 100);
}

const cases: fc.Arbitrary<SearchCase> = fc.record({
  shift,
  lines: fc.array(
    fc.oneof(
      fc.string({ maxLength: 8, unit: fc.constantFrom("a", "b", "c", "x", " ", ".", "1", "é", "😀", "(") }),
      text.filter((line) => line.length < 300), // longer ones are shown in part
    ),
    {
      maxLength: 6,
    },
  ),
  end: fc.constantFrom("\n", "\n", "\r\n"),
  pattern,
  before: fc.nat({ max: 2 }),
  after: fc.nat({ max: 2 }),
  maxMatches: fc.constantFrom(1, 2, 50),
});

/** What the language has a wider or narrower idea of than RE2. */
const AS_IN_RE2: ReadonlyMap<string, string> = new Map([
  [".", String.raw`[^\n]`],
  [String.raw`\s`, String.raw`[\t\n\f\r ]`],
  [String.raw`\w`, "[0-9A-Za-z_]"],
]);

/** The search of an ordinary pattern, or undefined where the language's engine is no measure. */
function finder(source: string): ((line: string) => number) | undefined {
  const match = /^\/(?<body>.+)\/(?<flags>[A-Za-z]*)$/su.exec(source)?.groups;
  if (match === undefined) return (line) => line.indexOf(source);
  const { body = "", flags = "" } = match;
  // What RE2 and the language read differently, or that is invalid in one of them.
  if (!/^(?:[abcx1é|.^$]|\[\^?ab?\]|\\[dws.]|\\x61|\(\?:|\(|\)|[*+?]\??|\{\d(?:,\d)?\})*$/u.test(body))
    return undefined;
  try {
    const same = body.replace(/\\x61|\\.|\[[^\]]*\]|./gu, (token) => AS_IN_RE2.get(token) ?? token);
    const expressionOf = new RegExp(same, `${flags.replace(/[gu]/g, "")}u`);
    return (line) => expressionOf.exec(line)?.index ?? -1;
  } catch {
    return undefined;
  }
}

async function check(world: World, one: SearchCase): Promise<void> {
  world.reset();
  const file = join(world.base, "project/found/here.txt");
  mkdirSync(dirname(file));
  const content = filler(one.shift ?? 0) + one.lines.map((line) => line + one.end).join("");
  writeFileSync(file, content);
  world.arranged();
  const { lines: _, end: _end, shift: _shift, ...options } = one;
  const { result } = await world.call({ tool: "fs.search", args: { path: "@project/found", ...options } });
  const code = codeOf(result);
  if (code !== "ok") {
    assert.equal(code, "TOOL_ARGS_INVALID");
    const isPlain = !/^\/.+\/[A-Za-z]*$/su.test(one.pattern);
    assert.ok(
      !isPlain || one.pattern === "" || one.pattern.includes("\n") || !one.pattern.isWellFormed(),
      "a plain text is searched",
    );
    return;
  }
  const find = finder(one.pattern);
  if (find === undefined || content.includes("\0") || !content.isWellFormed()) return;
  const pieces = content.split("\n");
  const lines = (pieces.at(-1) === "" ? pieces.slice(0, -1) : pieces).map((line) => line.replace(/\r$/, ""));
  const hits = lines.flatMap((line, index) => (find(line) === -1 ? [] : [{ index, column: find(line) + 1 }]));
  const { matches, stats, truncated } = result as unknown as {
    matches: object[];
    stats: object;
    truncated?: boolean;
  };
  assert.deepEqual(
    matches,
    hits.slice(0, one.maxMatches).map(({ index, column }) => ({
      path: "@project/found/here.txt",
      line: index + 1,
      column,
      text: lines[index],
      before: lines.slice(Math.max(0, index - one.before), index),
      after: lines.slice(index + 1, index + 1 + one.after),
    })),
  );
  assert.deepEqual(
    [stats, truncated === true],
    [{ filesScanned: 1, matchesFound: matches.length }, hits.length > one.maxMatches],
  );
}

export function searchProperty(): Property<SearchCase> {
  const world = new LazyWorld(() => World.open(), 300);
  return {
    name: "search",
    cases,
    check: (one) => world.use((place) => check(place, one)),
    close: () => world.close(),
  };
}
