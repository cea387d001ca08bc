import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { acquireEmbeddedServer } from "../../src/embedded/server.js";

declare module "vitest" {
  interface ProvidedContext {
    temporalAddress: string;
    cacheDir: string;
  }
}

/** Several projects are set up in one process, one after the other. */
let isBuilt = false;

/** Builds once, so that the command line under test is the code at hand, and starts one real Temporal server. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  if (!isBuilt) execFileSync(process.execPath, [join(root, "scripts/build.mjs")], { stdio: "inherit" });
  isBuilt = true;
  const cacheDir = process.env["INTERLOCK_TEST_CACHE"] ?? join(tmpdir(), "interlock-test-cache");
  const storeDir = await mkdtemp(join(tmpdir(), "interlock-server-"));
  const server = await acquireEmbeddedServer({
    storeDir,
    cacheDir,
    pathVariable: process.env["PATH"] ?? "",
    environment: process.env,
    searchAttributes: SEARCH_ATTRIBUTES,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  project.provide("temporalAddress", server.address);
  project.provide("cacheDir", cacheDir);
  return async () => {
    await server.release();
    await rm(storeDir, { recursive: true, force: true });
  };
}
