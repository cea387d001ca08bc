import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ALONE_TESTS } from "../../vitest.config.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Unit tests of one worker share a process: whichever file loaded the module first would decide what the others get. */
test("a test that replaces a module, or installs what a process has once, is listed as one that runs alone", () => {
  const found = readdirSync(new URL("..", import.meta.url), { recursive: true, encoding: "utf8" })
    .map((file) => `test/${file}`)
    .filter((file) => file.endsWith(".test.ts") && !file.startsWith("test/integration/"))
    .filter((file) =>
      /^(?:await )?vi\.(?:mock|doMock)\(|\bRuntime\.install\(/m.test(readFileSync(`${ROOT}${file}`, "utf8")),
    );
  expect(found.length).toBeGreaterThan(0);
  const alone = (file: string): boolean =>
    ALONE_TESTS.some(
      (name) => name === file || (name.includes("**") && file.startsWith(name.split("**")[0] ?? name)),
    );
  expect(found.filter((file) => !alone(file))).toEqual([]);
});

test("whoever has a server started for tests has a folder whose keeper ends it", () => {
  const setups = readdirSync(ROOT)
    .filter((file) => /^vitest\..*config\.ts$/.test(file))
    .flatMap((file) => [...readFileSync(`${ROOT}${file}`, "utf8").matchAll(/globalSetup: \[(.+)\]/g)])
    .map(([, list = ""]) => list)
    .filter((list) => list.includes("/global-setup.ts") || list.includes("/record-setup.ts"))
    .filter((list) => !list.startsWith("...ON_SERVER.globalSetup, "));
  expect(setups).toHaveLength(3);
  expect(setups.filter((list) => !/^(?:RUN_FOLDER|"test\/setup\/run-folder.ts"), /.test(list))).toEqual([]);
});
