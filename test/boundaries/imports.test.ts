import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { lintRules, roomOf } from "../../scripts/lint-rooms.mjs";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));
const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

interface Room {
  readonly rooms: readonly string[];
  readonly packages: readonly string[];
}

/** Who may import whom. `node` stands for node:*. */
const ROOMS = readJson("../../scripts/rooms.json") as Record<string, Room>;

function sourceFiles(): readonly string[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
    /(?<!\.d)\.tsx?$/.test(file),
  );
}

function roomOfFile(file: string): string {
  return roomOf(file.split(sep).join("/")) ?? "none";
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  const statements = text.matchAll(
    /^\s*(?:import|export)\s[^"';]*?from\s+"([^"]+)"|^\s*import\s+"([^"]+)"|import\("([^"]+)"\)/gm,
  );
  return [...statements].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return "node";
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

describe("the rooms", () => {
  test("every file of src belongs to one", () => {
    expect(sourceFiles().filter((file) => roomOfFile(file) === "none")).toEqual([]);
  });

  test("the linter's rules are those of the table: node scripts/lint-rooms.mjs writes them", () => {
    expect(readJson("../../.oxlint-rooms.json")).toEqual(lintRules());
  });

  test("the reader of imports sees them", () => {
    expect(importsOf("worker.ts")).toContain("./store/store.js");
    expect(importsOf(join("workflows", "conduct-run.ts"))).toContain("@temporalio/workflow");
  });

  test.each(Object.entries(ROOMS))("%s imports only what it may", (room, allowed) => {
    const violations: string[] = [];
    for (const file of sourceFiles().filter((candidate) => roomOfFile(candidate) === room)) {
      for (const specifier of importsOf(file)) {
        const isOurs = specifier.startsWith(".");
        const target = isOurs ? targetOf(file, specifier) : packageOf(specifier);
        const known = isOurs ? [room, ...allowed.rooms] : allowed.packages;
        if (!known.includes(target)) violations.push(`${file} → ${specifier}`);
      }
    }
    expect(violations).toEqual([]);
  });

  test("no room reaches itself by a way through others", () => {
    const onCircle = Object.keys(ROOMS).filter((room) => reachable(room).has(room));
    expect(onCircle).toEqual([]);
  });

  test("the table allows nothing that nobody needs", () => {
    const unused = Object.entries(ROOMS).flatMap(([room, { rooms, packages }]) => {
      const files = sourceFiles().filter((file) => roomOfFile(file) === room);
      const used = files.flatMap((file) =>
        importsOf(file).map((name) => (name.startsWith(".") ? targetOf(file, name) : packageOf(name))),
      );
      return [...rooms, ...packages]
        .filter((name) => !used.includes(name))
        .map((name) => `${room} → ${name}`);
    });
    expect(unused).toEqual([]);
  });

  test("only config.ts reads the environment, and what runs before any of it is loaded", () => {
    const readers = sourceFiles().filter((file) =>
      /process\.env\b/.test(readFileSync(join(SRC, file), "utf8")),
    );
    expect(readers.toSorted()).toEqual(["cli/compile-cache.ts", "config.ts"]);
  });
});

function targetOf(file: string, specifier: string): string {
  const path = relative(SRC, resolve(SRC, dirname(file), specifier));
  return roomOfFile(path.replace(/\.js$/, ".ts"));
}

/** The rooms that a room may import, and what those may import. */
function reachable(room: string): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...(ROOMS[room]?.rooms ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    waiting.push(...(ROOMS[next]?.rooms ?? []));
  }
  return found;
}
