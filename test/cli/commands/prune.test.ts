import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { runsPruneCommand, storeGcCommand } from "../../../src/cli/commands/prune.js";
import { UsageError } from "../../../src/cli/terminal/output.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["runs prune", () => runsPruneCommand({ keep: "0" })],
  ["runs prune --dry-run", () => runsPruneCommand({ keep: "0", dryRun: true })],
  ["store gc", () => storeGcCommand({})],
])("%s makes no store where there is none, and says so", async (_, command) => {
  const dir = join(await temporaryDirectory(), "mistyped");
  await mkdir(dir);
  vi.stubEnv("INTERLOCK_STORE", dir);
  const refused = command();
  await expect(refused).rejects.toThrow(UsageError);
  await expect(refused).rejects.toThrow(`There is no store in ${dir}.`);
  expect(await readdir(dir)).toEqual([]);
});
