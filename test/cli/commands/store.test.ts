import { closeSync, openSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { storeBackupCommand, storeRestoreCommand } from "../../../src/cli/commands/store.js";
import { UsageError } from "../../../src/cli/terminal/output.js";
import { commandOutput } from "../../fakes/command-output.js";
import { validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../../fakes/run-world.js";

const output = commandOutput();
let world: RunWorld;
let backup: string;
beforeEach(async () => {
  world = await openRunWorld(validPackage());
  backup = join(world.dir, "the backup");
  vi.stubEnv("INTERLOCK_STORE", world.store.dir);
  return () => vi.unstubAllEnvs();
});

describe("the commands that a restore names next", () => {
  test("can be pasted where paths have blanks in them", async () => {
    const gone = join(world.dir, "my project");
    await mkdir(gone);
    valueOf(await world.store.roots.add(gone, "write"));
    expect(await storeBackupCommand(backup, {})).toBe(0);
    await rename(gone, `${gone} moved`);
    const to = join(world.dir, "new place");
    expect(await storeRestoreCommand(backup, { to })).toBe(0);
    expect(output.text).toContain(`INTERLOCK_STORE='${to}' interlock worker\n`);
    expect(output.text).toContain(`INTERLOCK_STORE='${to}' interlock project add '${gone}'\n`);
  });

  test("register directories again where the list of them was damaged, in the restored store", async () => {
    await writeFile(join(world.store.dir, "roots.json"), "{");
    expect(await storeBackupCommand(backup, {})).toBe(1);
    expect(output.text).toMatch(
      /Not taken; its former backup stays, if there is one: roots\.json: .*damaged/,
    );
    const to = join(world.dir, "new place");
    expect(await storeRestoreCommand(backup, { to })).toBe(0);
    expect(output.text).toContain(`INTERLOCK_STORE='${to}' interlock project add <dir>\n`);
  });
});

describe("a backup in a directory where runs may work", () => {
  const said = /Runs may work in .*the backup: a model can read this backup .* outside of every project/;

  test("is said to be one that a model can read and change, registered or configured, whichever way the store is named", async () => {
    expect(await storeBackupCommand(backup, {})).toBe(0);
    expect(output.text).not.toMatch(said);
    vi.stubEnv("INTERLOCK_PROJECT_ROOTS", backup);
    expect(await storeBackupCommand(backup, {})).toBe(0);
    expect(output.text).toMatch(said);
    vi.stubEnv("INTERLOCK_PROJECT_ROOTS", "");
    output.text = "";
    valueOf(await world.store.roots.add(backup, "read"));
    expect(await storeBackupCommand(join(backup, "../the backup"), { store: world.store.dir })).toBe(0);
    expect(output.text).toMatch(said);
  });
});

test.each([
  ["backup", () => storeBackupCommand(backup, {})],
  ["restore", () => storeRestoreCommand(backup, { to: join(world.dir, "new place") })],
])("a %s that waits for another process says for what, and goes on when that is done", async (_, command) => {
  expect(await storeBackupCommand(backup, {})).toBe(0);
  const other = openSync(join(backup, "backup.lock"), "a");
  expect(tryLock(other)).toBe(true);
  const waiting = command();
  const sentence = `Another process works on ${backup}: waiting until it is done.`;
  await vi.waitFor(() => expect(output.text).toContain(sentence), 30_000);
  closeSync(other);
  expect(await waiting).toBe(0);
});

test("where no store or no backup is, another place was meant: that is wrong usage, and says how to name it", async () => {
  const nowhere = join(world.dir, "nowhere");
  const asked = [
    [
      storeBackupCommand(backup, { store: nowhere }),
      /no store in .*nowhere\. Name another one with --store\./,
    ],
    [
      storeRestoreCommand(nowhere, { to: join(world.dir, "new") }),
      /no backup in .*nowhere: .* Name the folder/,
    ],
  ] as const;
  for (const [command, sentence] of asked) {
    await expect(command).rejects.toThrow(UsageError);
    await expect(command).rejects.toThrow(sentence);
  }
  vi.stubEnv("INTERLOCK_STORE", nowhere);
  await expect(storeBackupCommand(backup, {})).rejects.toThrow(/INTERLOCK_STORE says where it is\.$/);
});
