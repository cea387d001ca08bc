import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withTemporaryFolder } from "./temporary-folder.js";

/**
 * Runs another program of the bench to its end, and gives what it writes with `--json`: also where it says by its exit code that a target
 * is missed. What it says goes to standard error.
 */
export async function figuresBy(module: string, args: readonly string[]): Promise<unknown> {
  return withTemporaryFolder(async (dir): Promise<unknown> => {
    const json = join(dir, "figures.json");
    const end = await run(module, [...args, "--json", json], 2);
    if (!existsSync(json)) throw new Error(`${module} ended by ${end}.`);
    return JSON.parse(await readFile(json, "utf8"));
  });
}

/** Runs another program of the bench to its end, as if it had been called itself. Rejects where it fails. */
export async function runProgram(module: string, args: readonly string[]): Promise<void> {
  const end = await run(module, args, "inherit");
  if (end !== 0) throw new Error(`${module} ended by ${end}.`);
}

/** Returns its exit code, or the signal that ended it. */
async function run(
  module: string,
  args: readonly string[],
  output: 2 | "inherit",
): Promise<number | NodeJS.Signals> {
  const path = fileURLToPath(new URL(module, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", output, "inherit"] });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return signal ?? code ?? 1;
}
