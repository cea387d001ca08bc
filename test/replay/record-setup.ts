import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { acquireEmbeddedServer } from "../../src/embedded/server.js";
import { writeEarlyCli } from "../fakes/early-server.js";

/** Histories this long are suggested to be continued as new: short enough to be committed. */
const EVENTS_BEFORE_CONTINUE_AS_NEW = 120;

/** A real server that suggests continue-as-new early. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cacheDir = process.env["INTERLOCK_TEST_CACHE"] ?? join(tmpdir(), "interlock-test-cache");
  const pathVariable = process.env["PATH"] ?? "";
  const storeDir = await mkdtemp(join(tmpdir(), "interlock-histories-"));
  const cli = await findTemporalCli({ cacheDir, pathVariable });
  const server = await acquireEmbeddedServer({
    cliPath: writeEarlyCli(storeDir, cli.path, EVENTS_BEFORE_CONTINUE_AS_NEW),
    storeDir,
    cacheDir,
    pathVariable,
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  project.provide("temporalAddress", server.address);
  project.provide("cacheDir", cacheDir);
  return async () => {
    await server.release();
    await rm(storeDir, { recursive: true, force: true });
  };
}
