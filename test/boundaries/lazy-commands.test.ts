import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/*
 * What a command loads before it does anything is most of its time. Temporal's client, with gRPC, is loaded by those that have
 * found something to ask it, and schemas by those that read something.
 */

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** Those that read files alone, or look at files first. */
const WITHOUT_CLIENT = [
  "main",
  "commands/status",
  "commands/package",
  "commands/package-graph",
  "commands/package-import",
  "commands/package-new",
  "commands/package-pack",
  "commands/project",
  "commands/runs",
  "completion",
];

/** The modules that are imported with a file, as values: not those of `import()`, and not types. */
function importsOf(file: string): readonly string[] {
  const statements = readFileSync(file, "utf8").matchAll(
    /^(?:import|export)\s+(?!type\b)([^"';]*?)\s*from\s+"([^"]+)"|^import\s+"([^"]+)"/gm,
  );
  return [...statements].flatMap(([, names = "", from, alone]) => {
    const listed = /^\{([^}]*)\}$/.exec(names.trim())?.[1]?.split(",");
    const isTypes = listed?.every((name) => name.trim() === "" || name.trim().startsWith("type "));
    return isTypes === true ? [] : [from ?? alone ?? ""];
  });
}

/** The way by which a module is reached from a file of src; undefined where it is not. */
function wayTo(wanted: string, entry: string): readonly string[] | undefined {
  const seen = new Set([entry]);
  const ways = [[entry]];
  for (const way of ways) {
    const file = way.at(-1) ?? "";
    for (const name of importsOf(file)) {
      if (name === wanted) return [...way.map((at) => relative(SRC, at)), name];
      const next = resolve(dirname(file), name.replace(/\.js$/, ".ts"));
      if (!name.startsWith(".") || seen.has(next) || !existsSync(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

test.each(WITHOUT_CLIENT)("%s is there without Temporal's client", (name) => {
  expect(wayTo("@temporalio/client", join(SRC, "cli", `${name}.ts`))).toBeUndefined();
});

test.each([
  "program",
  "operate-commands",
  "package-commands",
  "look-commands",
  "store-commands",
  "trust-commands",
])("%s lists its commands without a schema", (name) => {
  expect(wayTo("zod", join(SRC, "cli", `${name}.ts`))).toBeUndefined();
});

test("what is looked for would be found", () => {
  expect(wayTo("@temporalio/client", join(SRC, "client", "client.ts"))).toBeDefined();
});
