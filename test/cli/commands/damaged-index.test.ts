import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inboxCommand } from "../../../src/cli/commands/inbox.js";
import { restoreCommand } from "../../../src/cli/commands/restore.js";
import { runsCommand } from "../../../src/cli/commands/runs.js";
import { EXIT } from "../../../src/cli/terminal/output.js";
import { openStore } from "../../../src/store/store.js";
import { commandOutput } from "../../fakes/command-output.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

const output = commandOutput();

beforeEach(async () => {
  const dir = join(await temporaryDirectory(), "store");
  vi.stubEnv("INTERLOCK_STORE", dir);
  vi.stubEnv("TEMPORAL_ADDRESS", undefined);
  await openStore(dir);
  const project = join(dir, "projects", "shop-0123456789ab");
  await mkdir(project, { recursive: true });
  await writeFile(join(project, "runs.jsonl"), "no line of an index\n");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["runs", () => runsCommand({})],
  ["inbox", () => inboxCommand({})],
  ["restore --all", () => restoreCommand([], { all: true, waitForAnswers: true })],
])("%s does not say of an index that cannot be read that there is nothing in it", async (_, command) => {
  expect(await command()).toBe(EXIT.failed);
  expect(output.text).toContain("The index of the project's runs (runs.jsonl) cannot be read");
  expect(output.text).not.toMatch(/No runs|No questions|Nothing is to be/);
});
