import assert from "node:assert/strict";
import * as fc from "fast-check";
import { partsOf } from "../corpus/state-model.js";
import { World, codeOf } from "../corpus/world.js";
import { LazyWorld } from "./lazy-world.js";
import type { Property } from "./property.js";
import { json, text } from "./texts.js";

/** Documents of a grammar that mixes good and bad front matter: what is taken can be read and changed ever after. */

const PATH = "@state/workflow.md";

const scalar = fc.oneof(
  fc.constantFrom(
    "1",
    "1.1",
    "true",
    "~",
    "null",
    "x",
    "''",
    '"a\\nb"',
    ".inf",
    ".nan",
    "0x1F",
    "2024-01-01",
    "1e400",
  ),
  fc.constantFrom(
    "!!str 1",
    "!!set {a}",
    "!!js/function x",
    "!mine x",
    "&a x",
    "*a",
    "*b",
    "&b [1]",
    "|\n    block",
  ),
  fc.constantFrom(
    "<<",
    "=",
    "? x",
    "- x",
    "@x",
    "`x`",
    "%x",
    "# x",
    "x # y",
    "9".repeat(30),
    "-0",
    "+1",
    "1_0",
  ),
  text.map((value) => JSON.stringify(value)),
);
const keyText = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "c",
    "stepsCompleted",
    "currentNodeId",
    "variables",
    "schemaVersion",
    "1",
    '"1"',
    "true",
  ),
  fc.constantFrom(
    "__proto__",
    '"__proto__"',
    "<<",
    "? a",
    "*a",
    "&k a",
    "[1]",
    "{x: 1}",
    "''",
    "null",
    "constructor",
  ),
  text.map((value) => JSON.stringify(value)),
);
const node = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
    fc
      .array(fc.tuple(keyText, tie("value")), { maxLength: 3 })
      .map((pairs) => `{${pairs.map(([name, value]) => `${name}: ${value}`).join(", ")}}`),
    fc.tuple(fc.constantFrom("[", "{a: ", "- "), fc.integer({ min: 90, max: 110 })).map(([open, depth]) => {
      const close = open === "[" ? "]" : open === "- " ? "" : "}";
      return `${open.repeat(depth)}1${close.repeat(depth)}`;
    }),
  ),
})).value;

const GOOD = ['schemaVersion: "1.1"', "workflowType: corpus", 'currentNodeId: ""', "stepsCompleted: []"];
const tameKey = fc.oneof(
  fc.constantFrom("a", "b", "c", "? d\n", "constructor", "7", "true", "variables", "artifacts", "own-field"),
  text.filter((value) => value.isWellFormed() && value.length < 500).map((value) => JSON.stringify(value)),
);
/** Values that are large, and anchors whose aliases say more than they cost. */
const large = fc.oneof(
  fc.integer({ min: 60_000, max: 140_000 }).map((length) => `large: "${"x".repeat(length)}"`),
  fc.integer({ min: 20_000, max: 60_000 }).map((count) => `large: [${"0,".repeat(count)}]`),
  fc
    .record({
      width: fc.integer({ min: 1, max: 30 }),
      levels: fc.integer({ min: 1, max: 6 }),
      size: fc.nat({ max: 3000 }),
    })
    .map(({ width, levels, size }) =>
      [
        `l0: &l0 "${"x".repeat(size)}"`,
        ...Array.from({ length: levels }, (_, level) => {
          const aliases = Array.from({ length: width }, () => `*l${level}`);
          return `l${level + 1}: &l${level + 1} [${aliases.join(", ")}]`;
        }),
      ].join("\n"),
    ),
);

const line = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(tameKey, json).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
  },
  { weight: 3, arbitrary: fc.tuple(tameKey, node).map(([name, value]) => `${name}: ${value}`) },
  { weight: 1, arbitrary: fc.tuple(keyText, node).map(([name, value]) => `${name}: ${value}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      " ",
      "\t",
      "# comment",
      "...",
      "--- ",
      "%YAML 1.1",
      "- x",
      "? a\n: b",
      "a:\n  b:\n   c: 1",
    ),
  },
  { weight: 1, arbitrary: text },
  { weight: 1, arbitrary: large },
);

/** Mostly one of the first, now and then one of the others. */
const mostly = (usual: readonly string[], odd: readonly string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );

const documents = fc
  .record({
    head: mostly(
      ["---\n", "---\r\n", "\ufeff---\n"],
      [" ---\n", "---js\n", "---\t\n", "+++\n", "", "\n---\n"],
    ),
    good: fc.subarray(GOOD, { minLength: 3 }),
    lines: fc.array(line, { maxLength: 3 }),
    end: fc.constantFrom("\n", "\n", "\r\n"),
    fence: mostly(["---", "---\n", "---\r\n"], ["----", "...", " ---", "--- "]),
    body: fc.string({ maxLength: 10, unit: "binary" }),
  })
  .map(
    ({ head, good, lines, end, fence, body }) =>
      `${head}${[...good, ...lines, ""].join(end)}${fence}${fence.endsWith("\n") ? body : ""}`,
  );

const REFUSALS = ["E_INVALID_FRONTMATTER", "E_SCHEMA_VALIDATION", "E_INVALID_TRANSITION", "E_WRITE_LIMIT"];

async function check(world: World, content: string): Promise<void> {
  world.reset();
  const agent = content.length > 30_000 ? { agent: "wide" } : {};
  const { result, changes } = await world.call({ tool: "fs.write", args: { path: PATH, content }, ...agent });
  const code = codeOf(result);
  if (!content.isWellFormed()) {
    assert.equal(code, "TOOL_ARGS_INVALID");
    return;
  }
  if (code !== "ok") {
    assert.ok(REFUSALS.includes(code), code);
    assert.deepEqual(changes, []);
    return;
  }
  const bytes = Buffer.from(content);
  assert.deepEqual(world.read("state/workflow.md"), bytes);
  assert.match(content, /^\ufeff?---\r?\n/);
  assert.ok(!/^"?__proto__"?:/m.test(partsOf(bytes).block), "no prototype");
  for (const set of [{ probe: 1 }, { probe: [2, { x: null }] }]) {
    const patch = { operation: "updateFrontmatter", update: { variables: { set } } };
    const changed = await world.call({ tool: "fs.apply_patch", args: { path: PATH, patch } });
    assert.equal(
      codeOf(changed.result),
      "ok",
      `what was taken can be changed: ${JSON.stringify(changed.result)}`,
    );
    assert.equal(partsOf(world.read("state/workflow.md")).tail, partsOf(bytes).tail, "the body");
  }
}

export function documentProperty(): Property<string> {
  const world = new LazyWorld(() => World.open(), 300);
  return {
    name: "documents",
    cases: documents,
    check: (content) => world.use((place) => check(place, content)),
    close: () => world.close(),
  };
}
