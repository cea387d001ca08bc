import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { acquireEmbeddedServer } from "../../src/embedded/server.js";
import { BUILT_WORKFLOWS, buildIfChanged } from "../setup/build.js";
import { testCache } from "../setup/run-folder.js";

declare module "vitest" {
  interface ProvidedContext {
    temporalAddress: string;
    cacheDir: string;
    /** Path of the build's workflow bundle, for workers of the tests' own processes. */
    workflowBundle: string;
  }
}

/** Builds, so that the command line under test is the code at hand, and starts one real Temporal server. */
export default async function setup(project: TestProject): Promise<void> {
  buildIfChanged();
  const cacheDir = testCache();
  // Nobody stops it but the keeper of the run's folder, in which it lies: when the runner is gone, killed or not.
  const server = await acquireEmbeddedServer({
    storeDir: await mkdtemp(join(tmpdir(), "interlock-server-")),
    cacheDir,
    pathVariable: process.env["PATH"] ?? "",
    environment: process.env,
    searchAttributes: SEARCH_ATTRIBUTES,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  project.provide("temporalAddress", server.address);
  project.provide("cacheDir", cacheDir);
  project.provide("workflowBundle", BUILT_WORKFLOWS);
}
