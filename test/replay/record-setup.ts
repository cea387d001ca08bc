import type { TestProject } from "vitest/node";
import { BUILT_WORKFLOWS, buildIfChanged } from "../setup/build.js";
import { testCache } from "../setup/run-folder.js";
import { startEarlyServer } from "../fakes/early-server.js";

/** A real server for the runs whose histories are recorded. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  buildIfChanged();
  const cacheDir = testCache();
  const server = await startEarlyServer(cacheDir);
  project.provide("temporalAddress", server.address);
  project.provide("cacheDir", cacheDir);
  project.provide("workflowBundle", BUILT_WORKFLOWS);
  return () => server.close();
}
