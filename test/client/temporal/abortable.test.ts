import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../../../src", import.meta.url));

test("signals are handed to Temporal's client in one place, which lets go of them", () => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  const handing = files.filter((file) => readFileSync(join(SRC, file), "utf8").includes("withAbortSignal"));
  expect(handing).toEqual([join("client", "temporal", "abortable.ts")]);
});
