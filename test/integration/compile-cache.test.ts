import { chmod, chown, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import nodeModule from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "./harness.js";
import { Shell } from "./shell.js";

/** Node 22.1 and newer. */
const CAN_KEEP = "enableCompileCache" in nodeModule;
const ANOTHER = 65_534;

async function home(): Promise<{ readonly dir: string; readonly cache: string; readonly shell: Shell }> {
  const dir = await temporaryDirectory();
  const cache = join(dir, "cache");
  return { dir, cache, shell: new Shell(dir, { INTERLOCK_CACHE: cache }) };
}

async function help(shell: Shell): Promise<void> {
  expect(await shell.runAlone(["--help"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Usage: interlock/u),
    stderr: "",
  });
}

async function entries(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch(() => []);
}

test("what is compiled is kept in the cache directory where Node can, in a directory of this user alone", async () => {
  const { cache, shell } = await home();
  await help(shell);
  expect(await entries(join(cache, "compiled"))).toHaveLength(CAN_KEEP ? 1 : 0);
  await help(shell);
});

test("in a directory that others may write nothing is kept", async () => {
  const { cache, shell } = await home();
  const compiled = join(cache, "compiled");
  await mkdir(compiled, { recursive: true });
  await chmod(compiled, 0o777);
  await help(shell);
  expect(await entries(compiled)).toEqual([]);
});

test("nothing is kept behind a link", async () => {
  const { dir, cache, shell } = await home();
  await mkdir(cache);
  await mkdir(join(dir, "elsewhere"), { mode: 0o700 });
  await symlink("../elsewhere", join(cache, "compiled"));
  await help(shell);
  expect(await entries(join(dir, "elsewhere"))).toEqual([]);
});

test("a command works where nothing can be kept", async () => {
  const { dir, cache, shell } = await home();
  await writeFile(cache, "");
  await help(shell);
  await help(shell.with({ INTERLOCK_CACHE: "", HOME: join(cache, "no-home-can-be-here") }));
  expect(await entries(dir)).toEqual(["cache"]);
});

test("nothing is made in the cache directory of another user, nor in whatever directory a command is called", async () => {
  const { dir, cache, shell } = await home();
  await mkdir(cache);
  if (process.getuid?.() === 0) {
    await chown(cache, ANOTHER, ANOTHER);
    await help(shell);
    await help(shell.with({ INTERLOCK_CACHE: join(cache, "new") }));
  }
  await help(shell.with({ INTERLOCK_CACHE: "here" }));
  expect(await entries(cache)).toEqual([]);
  expect(await entries(dir)).toEqual(["cache"]);
});

test("without a directory that is named it is that of the platform, in the home of this user", async () => {
  const { dir, shell } = await home();
  await help(shell.with({ INTERLOCK_CACHE: "", XDG_CACHE_HOME: join(dir, "xdg") }));
  expect(await entries(join(dir, "xdg/interlock/compiled"))).toHaveLength(CAN_KEEP ? 1 : 0);
});
