import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { whyLost } from "../../src/store/lost-store.js";
import { openStore } from "../../src/store/store.js";

test.each<readonly [string, (file: string) => void]>([
  ["is damaged", (file) => writeFileSync(file, "{")],
  [
    "cannot be read",
    (file) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
  [
    "is reached through a file now",
    (file) => {
      renameSync(join(file, ".."), join(file, "../../elsewhere"));
      writeFileSync(join(file, ".."), "");
    },
  ],
])("whoever asks for a store whose own file %s hears why, and needs to catch nothing", async (_, harm) => {
  const dir = join(mkdtempSync(join(tmpdir(), "interlock-lost-")), "store");
  const store = await openStore(dir);
  expect(await whyLost(store)).toBeUndefined();
  harm(join(dir, "store.json"));
  expect(await whyLost(store)).toMatch(/store\.json .*Put it back/s);
});
