import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadAssets } from "../../../src/page/server/assets.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { withoutRights } from "../../fakes/unprivileged.js";

test("a build that cannot be read now is not one that has no page", async () => {
  const dir = await temporaryDirectory();
  const built = join(dir, "web");
  expect((await loadAssets(built)).size).toBe(0);
  await mkdir(built);
  await writeFile(join(built, "index.html"), "<!doctype html>");
  await withoutRights(dir, async () => {
    expect([...(await loadAssets(built)).keys()]).toEqual(["/"]);
    await chmod(built, 0);
    await expect(loadAssets(built)).rejects.toThrow("EACCES");
    await chmod(built, 0o700);
  });
});
