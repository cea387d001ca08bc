import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { expect, test, vi } from "vitest";
import { main } from "../../../src/cli/program.js";
import { commandOutput } from "../../fakes/command-output.js";
import { validPackage, writePackage } from "../../fakes/package-fixture.js";
import { openRunWorld } from "../../fakes/run-world.js";

const output = commandOutput();

test.each([
  ["store.lock", (dir: string) => ["project", "add", dir]],
  ["packages.lock", (dir: string) => ["package", "install", join(dir, "source")]],
])(
  "a command says that another process keeps it waiting with the store's %s, and goes on when that is done",
  async (name, commandIn) => {
    const { dir, store } = await openRunWorld(validPackage());
    vi.stubEnv("INTERLOCK_STORE", store.dir);
    await writePackage(join(dir, "source"), { ...validPackage(), "assets/more.md": "More.\n" });
    const other = openSync(join(store.dir, name), "a");
    expect(tryLock(other)).toBe(true);

    const waiting = main(commandIn(dir));

    const sentence = `Another process works on ${store.dir}: waiting until it is done.`;
    await vi.waitFor(() => expect(output.text).toContain(sentence), 30_000);
    closeSync(other);
    expect(await waiting).toBe(0);
  },
);
