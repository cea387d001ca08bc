import { rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { movedStore } from "../../../src/cli/serve/moved-store.js";
import { openStore } from "../../../src/store/store.js";
import { newStoreDir } from "../../doctor/places.js";

test("a store that is moved away under whoever works on it is said to be gone, once, and to be back", async () => {
  const dir = await newStoreDir();
  const store = await openStore(join(dir, "store"));
  const said: string[] = [];
  const look = movedStore(store, (line) => said.push(line));
  await look();
  await rename(store.dir, join(dir, "elsewhere"));
  await look();
  await look();
  await rename(join(dir, "elsewhere"), store.dir);
  await look();
  await look();
  expect(said).toEqual([
    expect.stringMatching(/store\.json is not there now\. Put it back, or end this worker/),
    `The store is in ${store.dir} again.`,
  ]);
});
