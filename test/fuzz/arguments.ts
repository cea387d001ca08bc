import assert from "node:assert/strict";
import * as fc from "fast-check";
import { World, codeOf } from "../corpus/world.js";
import { LazyWorld } from "./lazy-world.js";
import type { Property } from "./property.js";
import { json, text } from "./texts.js";

/** Valid calls whose names and arguments were changed character by character, and values of any shape. */

interface Edit {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

interface ArgumentsCase {
  readonly tool: string;
  readonly raw: string;
  readonly edits: readonly Edit[];
}

const VALID: readonly [string, object][] = [
  ["fs.list", { path: "@project/src" }],
  ["fs.read", { path: "@project/notes.txt", startLine: 1, endLine: 2 }],
  ["fs.search", { path: "@project", pattern: "/n(e+)dle/i", before: 1, after: 0, maxMatches: 5 }],
  ["fs.write", { path: "@project/new.txt", content: "text", ifMatchSha256: "0".repeat(64) }],
  ["fs.write", { path: "@state/workflow.md", content: '---\nschemaVersion: "1.1"\nworkflowType: x\n---\n' }],
  [
    "fs.apply_patch",
    {
      path: "@state/workflow.md",
      patch: {
        operation: "updateFrontmatter",
        update: {
          variables: { set: { a: 1 } },
          currentNodeId: { set: "middle" },
          stepsCompleted: { append: ["ask"] },
        },
      },
    },
  ],
];

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat({ max: 300 }),
  remove: fc.constantFrom(0, 0, 1, 1, 2, 10),
  insert: fc.oneof(
    fc.constantFrom(
      "",
      '"',
      "\\",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      "\0",
      "\n",
      "..",
      "/",
      "@",
      "null",
      "1e999",
      "-",
      ".",
    ),
    fc.constantFrom(
      '"__proto__":1,',
      "\\u0000",
      "\\ud800",
      "\\u005f",
      '"path":"/etc/passwd",',
      "[".repeat(120),
    ),
    text,
  ),
});

const cases: fc.Arbitrary<ArgumentsCase> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ call: fc.constantFrom(...VALID), edits: fc.array(edit, { maxLength: 3 }) })
      .map(({ call, edits }) => ({
        tool: call[0],
        raw: JSON.stringify(call[1]),
        edits,
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({
        call: fc.constantFrom(...VALID),
        key: fc.oneof(fc.constantFrom("path", "patch", "content", "pattern"), text),
        value: json,
      })
      .map(({ call, key, value }) => ({
        tool: call[0],
        raw: JSON.stringify({ ...call[1], [key]: value }),
        edits: [],
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({
        tool: fc.oneof(text, fc.constantFrom("fs_read", "fs.read ", "FS.READ", "constructor")),
        value: json,
      })
      .map(({ tool, value }) => ({ tool, raw: JSON.stringify(value), edits: [] })),
  },
);

function edited({ raw, edits }: ArgumentsCase): string {
  return edits.reduce((now, { at, remove, insert }) => {
    const start = at % (now.length + 1);
    return now.slice(0, start) + insert + now.slice(start + remove);
  }, raw);
}

function isJson(raw: string): boolean {
  try {
    JSON.parse(raw);
    return true;
  } catch {
    return false;
  }
}

const NAMES = ["list", "read", "search", "write", "apply_patch"].flatMap((name) => [
  `fs.${name}`,
  `fs_${name}`,
]);

async function check(world: World, one: ArgumentsCase): Promise<void> {
  world.reset();
  const raw = edited(one);
  const { result, changes } = await world.call({ tool: one.tool, raw });
  const code = codeOf(result);
  if (!NAMES.includes(one.tool)) assert.equal(code, "TOOL_NOT_AVAILABLE");
  else if (!isJson(raw)) assert.ok(["TOOL_ARGS_INVALID_JSON", "TOOL_ARGS_INVALID"].includes(code), code);
  else assert.notEqual(code, "TOOL_ARGS_INVALID_JSON");
  if (code !== "ok") assert.deepEqual(changes, []);
}

export function argumentsProperty(): Property<ArgumentsCase> {
  const world = new LazyWorld(() => World.open(), 300);
  return {
    name: "arguments",
    cases,
    check: (one) => world.use((place) => check(place, one)),
    close: () => world.close(),
  };
}
