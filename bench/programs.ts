import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Runs another program of the bench to its end, and gives what it writes with `--json`. What it says goes to standard error. */
export async function figuresBy(module: string, args: readonly string[]): Promise<unknown> {
  const dir = await mkdtemp(join(tmpdir(), "interlock-bench-"));
  try {
    const json = join(dir, "figures.json");
    await run(module, [...args, "--json", json], 2);
    return JSON.parse(await readFile(json, "utf8"));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Runs another program of the bench to its end, as if it had been called itself. */
export async function runProgram(module: string, args: readonly string[]): Promise<void> {
  await run(module, args, "inherit");
}

/** Rejects where it ends before it has measured; a target that it has missed is said by its figures. */
async function run(module: string, args: readonly string[], output: 2 | "inherit"): Promise<void> {
  const path = fileURLToPath(new URL(module, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", output, "inherit"] });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  if (code === 0 || code === 1) return;
  throw new Error(`${module} ended by ${signal ?? code}.`);
}
