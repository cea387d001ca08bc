import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { acquireEmbeddedServer } from "../../src/embedded/server.js";
import { testCache } from "../setup/run-folder.js";

declare module "vitest" {
  interface ProvidedContext {
    temporalAddress: string;
    cacheDir: string;
  }
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What a build writes last. */
const BUILT = join(ROOT, "dist/workflow-bundle.cjs");
/** What a build is made of. */
const SOURCES = ["src", "scripts/build.mjs", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];

/** Builds, so that the command line under test is the code at hand, and starts one real Temporal server. */
export default async function setup(project: TestProject): Promise<void> {
  if (!isBuilt()) execFileSync(process.execPath, [join(ROOT, "scripts/build.mjs")], { stdio: "inherit" });
  const cacheDir = testCache();
  // Nobody stops it but the keeper of the run's folder, in which it lies: when the runner is gone, killed or not.
  const server = await acquireEmbeddedServer({
    storeDir: await mkdtemp(join(tmpdir(), "interlock-server-")),
    cacheDir,
    pathVariable: process.env["PATH"] ?? "",
    searchAttributes: SEARCH_ATTRIBUTES,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  project.provide("temporalAddress", server.address);
  project.provide("cacheDir", cacheDir);
}

/** Whether nothing has changed since the last build: `npm cit` has just built, and a folder tells when a file of it went. */
function isBuilt(): boolean {
  if (!existsSync(BUILT)) return false;
  const builtAt = statSync(BUILT).mtimeMs;
  return SOURCES.every((source) => lastChange(join(ROOT, source)) < builtAt);
}

function lastChange(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => lastChange(join(path, name))));
}
