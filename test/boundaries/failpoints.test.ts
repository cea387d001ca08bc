import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { FAILPOINTS, failpoint } from "../../src/core/failpoint.js";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));
const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const text = (file: string) => readFileSync(join(SRC, file), "utf8");

describe("failpoints in a production build", () => {
  test("are an empty function", () => {
    expect(failpoint.toString()).toMatch(/^function failpoint\(\w*\) ?\{\s*\}$/);
    expect(text("core/failpoint.ts")).toMatch(
      /export function failpoint\(_name: FailpointName\): void \{\}\n$/,
    );
    expect(text("core/failpoint.ts")).not.toMatch(/\bimport\b|\blet\b|globalThis/);
  });

  test("cannot be exchanged or switched on: nothing in src assigns to them or names what arms them", () => {
    const suspects = files.filter((file) => /INTERLOCK_TEST|failpoint\s*=[^=>]/.test(text(file)));
    expect(suspects).toEqual([]);
    expect(Object.isFrozen(FAILPOINTS)).toBe(true);
  });

  test("are hit by their names only, each name somewhere", () => {
    const hits = files.flatMap((file) =>
      [...text(file).matchAll(/\bfailpoint\(("?[^)]*)\)/g)].map((m) => m[1]),
    );
    const names = hits.filter((name) => name !== "_name: FailpointName").map((name) => name?.slice(1, -1));
    expect(new Set(names)).toEqual(new Set(FAILPOINTS));
  });
});
