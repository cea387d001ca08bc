import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startEarlyServer } from "../fakes/early-server.js";

/** A real server for the runs whose histories are recorded. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cacheDir = process.env["INTERLOCK_TEST_CACHE"] ?? join(tmpdir(), "interlock-test-cache");
  const server = await startEarlyServer(cacheDir);
  project.provide("temporalAddress", server.address);
  project.provide("cacheDir", cacheDir);
  return () => server.close();
}
