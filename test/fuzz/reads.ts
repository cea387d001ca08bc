import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { World, codeOf, sha256 } from "../corpus/world.js";
import { LazyWorld } from "./lazy-world.js";
import type { Property } from "./property.js";
import { filler, shift } from "./search.js";
import { text } from "./texts.js";

/** Files of any bytes, read whole and by windows, held against what slicing them as a whole gives. */

interface ReadCase {
  readonly shift: number;
  readonly texts: readonly string[];
  /** Bytes that are put among the texts, as hexadecimal digits: often no UTF-8. */
  readonly bytes: string;
  readonly startLine?: number;
  readonly endLine?: number;
  readonly agent: "author" | "tight";
}

const LIMITS = { author: 50_000, tight: 64 };

const cases = fc.record(
  {
    shift,
    texts: fc.array(fc.oneof(text, fc.constantFrom("\n", "\r\n", "😀", "é", "€uro", "\n\n")), {
      maxLength: 8,
    }),
    bytes: fc.oneof(
      { weight: 4, arbitrary: fc.constant("") },
      { weight: 1, arbitrary: fc.constantFrom("ff", "c3", "e282", "00", "eda080", "f09f98") },
    ),
    startLine: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 2610, max: 2630 })),
    endLine: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 2610, max: 2630 })),
    agent: fc.constantFrom("author", "tight"),
  },
  { requiredKeys: ["shift", "texts", "bytes", "agent"] },
) as fc.Arbitrary<ReadCase>;

function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && Buffer.from(bytes.toString()).equals(bytes);
}

/** What a read of the bytes comes to: the code, and the text where there is one. */
function expected(
  bytes: Buffer,
  { startLine, endLine, agent }: ReadCase,
): readonly [string, string?, boolean?] {
  const limit = LIMITS[agent];
  if (startLine !== undefined && endLine !== undefined && startLine > endLine) return ["TOOL_ARGS_INVALID"];
  if (!isText(bytes)) return ["TOOL_ARGS_INVALID"];
  if (startLine === undefined && endLine === undefined) {
    if (bytes.length <= limit) return ["ok", bytes.toString(), false];
    let cut = limit;
    while (((bytes[cut] ?? 0) & 0xc0) === 0x80) cut -= 1;
    return ["ok", bytes.subarray(0, cut).toString(), true];
  }
  const lines = bytes.toString().split("\n");
  if ((startLine ?? 1) > lines.length) return ["TOOL_ARGS_INVALID"];
  const window = lines.slice((startLine ?? 1) - 1, endLine).join("\n");
  return Buffer.byteLength(window) > limit ? ["E_READ_LIMIT"] : ["ok", window, false];
}

async function check(world: World, one: ReadCase): Promise<void> {
  world.reset();
  const content = Buffer.concat([
    Buffer.from(filler(one.shift) + one.texts.join("")),
    Buffer.from(one.bytes, "hex"),
  ]);
  const file = join(world.base, "project/found/here.txt");
  mkdirSync(dirname(file));
  writeFileSync(file, content);
  world.arranged();
  const { startLine, endLine, agent } = one;
  const args = { path: "@project/found/here.txt", startLine, endLine };
  const { result, changes } = await world.call({ tool: "fs.read", args, agent });
  const [code, shown, truncated] = expected(content, one);
  assert.deepEqual([codeOf(result), changes], [code, []], JSON.stringify(result).slice(0, 500));
  if (!result.ok) return;
  assert.deepEqual(
    [result["bytes"], result["sha256"], result["truncated"]],
    [content.length, sha256(content), truncated],
  );
  assert.equal(truncated === true ? result["contentPreview"] : result["content"], shown);
}

export function readProperty(): Property<ReadCase> {
  const world = new LazyWorld(() => World.open(), 300);
  return {
    name: "reads",
    cases,
    check: (one) => world.use((place) => check(place, one)),
    close: () => world.close(),
  };
}
