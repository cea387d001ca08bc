import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { World, codeOf, sha256 } from "../corpus/world.js";
import { type Place, placeOf } from "./path-model.js";
import type { Property } from "./property.js";
import { LazyWorld } from "./lazy-world.js";

/** Sequences of calls on paths made of hostile pieces, held against a naive walk over the same tree. */

interface PathCall {
  readonly tool: "fs.list" | "fs.read" | "fs.search" | "fs.write" | "fs.apply_patch";
  readonly path: string;
}

const PIECES = [
  "src/main.ts",
  "src/deep/er/file.txt",
  "artifacts/a.md",
  "artifacts/to-src/main.ts",
  "in-self/in-dir",
  "in-dir/deep/er",
  "sub/visible.txt",
  "README.md",
  "notes.txt",
  "src",
  "main.ts",
  "deep",
  "er",
  "file.txt",
  "artifacts",
  "old.md",
  "new.txt",
  "a",
  "b",
  ".",
  "..",
  "...",
  "",
  " ",
  "~",
  "%2e%2e",
  "..\\outside",
  ".env",
  ".ENV",
  ".env.local",
  ".env.example",
  ".git",
  "config",
  ".hidden",
  "inner.txt",
  "sub",
  "node_modules",
  "outside",
  "secret.txt",
  "out-file",
  "out-dir",
  "out-new",
  "out-abs",
  "out-abs-dir",
  "out-twist",
  "to-root",
  "to-git",
  "to-env",
  "to-null",
  "to-store",
  "parent",
  "chain-1",
  "chain-3",
  "in-file",
  "in-dir",
  "in-abs",
  "in-up",
  "in-self",
  "in-new",
  "in-artifacts",
  "to-src",
  "up-and-back",
  "dangling",
  "dangling-deep",
  "loop-a",
  "loop-self",
  "fifo",
  "empty-dir",
  "workflow.md",
  "logs",
  "execution.jsonl",
  "bmad.json",
  "steps",
  "0.md",
  "x\0y",
  "é.txt",
  "new\nline",
  "__proto__",
];
const MOUNTS = [
  ...Array.from({ length: 12 }, () => "@project"),
  "@pkg",
  "@pkg",
  "@state",
  "@state",
  "@Project",
  "@store",
  "",
  "/",
  "..",
  "~",
];

const path = fc
  .tuple(fc.constantFrom(...MOUNTS), fc.array(fc.constantFrom(...PIECES), { maxLength: 5 }), fc.boolean())
  .map(([mount, pieces, slash]) => [mount, ...pieces].join("/") + (slash ? "/" : ""));

const calls: fc.Arbitrary<PathCall[]> = fc.array(
  fc.record({
    tool: fc.constantFrom("fs.list", "fs.read", "fs.search", "fs.write", "fs.apply_patch"),
    path,
  }),
  { minLength: 1, maxLength: 5 },
);

const CONTENT = "PLANTED\n";
const SANDBOX = "E_SANDBOX_VIOLATION";
const ARGS = "TOOL_ARGS_INVALID";
const CHANGES: ReadonlySet<string> = new Set(["fs.write", "fs.apply_patch"]);

function argumentsOf({ tool, path: target }: PathCall): object {
  switch (tool) {
    case "fs.search":
      return { path: target, pattern: "PLANTED" };
    case "fs.write":
      return { path: target, content: CONTENT };
    case "fs.apply_patch":
      return {
        path: target,
        patch: { operation: "updateFrontmatter", update: { variables: { set: { a: 1 } } } },
      };
    default:
      return { path: target };
  }
}

function isDocument(target: string): boolean {
  const [mount, ...names] = target.split("/").filter((name) => name !== "" && name !== ".");
  return (
    target.startsWith("@state") && mount === "@state" && names.length === 1 && names[0] === "workflow.md"
  );
}

/** Whether a new name may not be made: of the pieces, the one with a line break in it (contracts §7). */
function isHidden(name: string): boolean {
  return /\p{Cc}/u.test(name);
}

/** What a call comes to, by the naive walk. */
function expected({ tool, path: target }: PathCall, place: Place): string {
  if (place.kind === "refused") return SANDBOX;
  if (CHANGES.has(tool) && place.kind === "missing" && place.names.some(isHidden)) return SANDBOX;
  if (tool === "fs.apply_patch") return isDocument(target) ? "ok" : ARGS;
  if (tool === "fs.write") {
    if (isDocument(target)) return "E_INVALID_FRONTMATTER";
    return place.kind === "file" || place.kind === "missing" ? "ok" : ARGS;
  }
  if (place.kind === "blocked" || place.kind === "missing") return "ENOENT";
  if (tool === "fs.search") return "ok";
  return (place.kind === "directory") === (tool === "fs.list") ? "ok" : ARGS;
}

async function check(world: World, sequence: readonly PathCall[]): Promise<void> {
  const [packageDir = ""] = readdirSync(join(world.base, "store/packages"));
  const roots = {
    project: join(world.base, "project"),
    state: world.stateDir,
    pkg: join(world.base, "store/packages", packageDir),
  };
  world.reset();
  for (const call of sequence) {
    const access = CHANGES.has(call.tool) ? "write" : "read";
    const place = placeOf(call.path, access, roots);
    const { result, changes } = await world.call({ tool: call.tool, args: argumentsOf(call) });
    assert.equal(
      codeOf(result),
      expected(call, place),
      `${call.tool} ${JSON.stringify(call.path)}: ${JSON.stringify(result)}`,
    );
    if (!result.ok || access === "read") assert.deepEqual(changes, [], "nothing changes");
    if (!result.ok || !("host" in place)) continue;
    const { content, sha256: hash } = result as { content?: unknown; sha256?: unknown };
    if (call.tool === "fs.read" && content !== undefined) {
      const bytes = readFileSync(place.host);
      assert.deepEqual([content, hash], [bytes.toString(), sha256(bytes)]);
    }
    if (call.tool === "fs.write") assert.equal(readFileSync(place.host, "utf8"), CONTENT);
    if (call.tool === "fs.list") {
      const listed = result as { entries?: readonly string[] };
      assert.ok(
        listed.entries?.every((name) => !name.startsWith(".")),
        "no hidden entry is listed",
      );
    }
  }
}

export function pathProperty(): Property<PathCall[]> {
  const world = new LazyWorld(() => World.open(), 300);
  return {
    name: "paths",
    cases: calls,
    check: (sequence) => world.use((place) => check(place, sequence)),
    close: () => world.close(),
  };
}
