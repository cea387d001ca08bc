import { realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "../fakes/package-fixture.js";

/** An empty private directory, gone after the test. */
export async function newStoreDir(): Promise<string> {
  const dir = await realpath(await temporaryDirectory());
  return dir;
}

/** Puts a settings file into a store's directory, which is returned. */
export async function writeSettings(dir: string, settings: unknown): Promise<string> {
  await writeFile(join(dir, "settings.json"), JSON.stringify(settings), { mode: 0o600 });
  return dir;
}
