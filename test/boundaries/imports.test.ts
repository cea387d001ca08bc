import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** Who may import whom: rooms of src/, and packages. `node` stands for node:*. */
const MATRIX: Record<string, { rooms: readonly string[]; packages: readonly string[] }> = {
  core: { rooms: [], packages: ["zod"] },
  contract: { rooms: ["core"], packages: ["zod"] },
  store: {
    rooms: ["core"],
    packages: ["node", "gray-matter", "yaml", "yauzl", "yazl", "fs-native-extensions", "semver", "zod"],
  },
  tools: { rooms: ["core", "store"], packages: ["node", "re2js", "fs-native-extensions", "zod"] },
  model: { rooms: ["core"], packages: ["node", "zod"] },
  rehearsal: { rooms: ["core"], packages: ["node", "yaml", "zod"] },
  embedded: {
    rooms: ["core", "store"],
    packages: ["node", "yauzl", "fs-native-extensions", "httpxy", "zod"],
  },
  activities: {
    rooms: ["contract", "core", "store", "tools", "model"],
    packages: ["node", "@temporalio/activity", "@temporalio/common"],
  },
  workflows: { rooms: ["contract", "core"], packages: ["@temporalio/workflow", "@temporalio/common"] },
  "client.ts": {
    rooms: ["contract", "core", "run-handle.ts"],
    packages: ["node", "@temporalio/client", "@temporalio/common", "@temporalio/envconfig"],
  },
  "run-handle.ts": {
    rooms: ["contract", "core", "audit-head.ts"],
    packages: ["node", "@temporalio/client", "@temporalio/common"],
  },
  "audit-head.ts": { rooms: ["contract"], packages: ["@temporalio/common", "zod"] },
};

/** Files that compose the rooms: they may import any. */
const COMPOSITION = [
  "worker.ts",
  "rehearsals.ts",
  "export-run.ts",
  "config.ts",
  "descriptors.ts",
  "index.ts",
  "workflow-bundle.ts",
  "replay.ts",
  "cli",
  "fs-native-extensions.d.ts",
];

function sourceFiles(): readonly string[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
}

function roomOf(file: string): string {
  return file.split(sep)[0] ?? "";
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

describe("the import matrix", () => {
  test("every file of src belongs to a room or to the composition", () => {
    const known = [...Object.keys(MATRIX), ...COMPOSITION];
    expect(sourceFiles().filter((file) => !known.includes(roomOf(file)))).toEqual([]);
  });

  test("the reader of imports sees them", () => {
    expect(importsOf("worker.ts")).toContain("./store/store.js");
    expect(importsOf(join("workflows", "conduct-run.ts"))).toContain("@temporalio/workflow");
  });

  test.each(Object.entries(MATRIX))("%s imports only what it may", (room, allowed) => {
    const violations: string[] = [];
    for (const file of sourceFiles().filter((candidate) => roomOf(candidate) === room)) {
      for (const specifier of importsOf(file)) {
        if (specifier.startsWith(".")) {
          const target = roomOf(relative(SRC, resolve(SRC, dirname(file), specifier))).replace(
            /\.js$/,
            ".ts",
          );
          if (target !== room && !allowed.rooms.includes(target)) violations.push(`${file} → ${specifier}`);
        } else if (!allowed.packages.includes(packageOf(specifier)))
          violations.push(`${file} → ${specifier}`);
      }
    }
    expect(violations).toEqual([]);
  });

  test("only config.ts reads the environment", () => {
    const readers = sourceFiles().filter((file) =>
      /process\.env\b/.test(readFileSync(join(SRC, file), "utf8")),
    );
    expect(readers).toEqual(["config.ts"]);
  });
});
