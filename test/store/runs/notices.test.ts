import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Notice } from "../../../src/core/notify/notice.js";
import { Notices } from "../../../src/store/runs/notices.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { namesIn } from "../../fakes/run-world.js";

test("what a crash has left of a notice goes when the next one is kept", async () => {
  const dir = await temporaryDirectory();
  const notices = new Notices(join(dir, "notices"), join(dir, "notices.lock"));
  const notice = {} as Notice;
  await notices.keep(13, "ops", notice);
  await writeFile(join(dir, "notices", ".tmp-13.chat.json-aa86ddd2c23c"), "half");
  await notices.keep(14, "ops", notice);
  expect(await namesIn(join(dir, "notices"))).toEqual(["13.ops.json", "14.ops.json"]);
});
