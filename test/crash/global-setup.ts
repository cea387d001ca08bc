import type { TestProject } from "vitest/node";
import { buildArmed } from "./armed-build.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Directory of the armed build that the crash tests share. */
    armedBuild: string;
  }
}

/** Makes the armed build once for all crash tests: what V8 makes of it is kept beside it, and known to all of them. */
export default async function setup(project: TestProject): Promise<() => void> {
  const build = await buildArmed();
  project.provide("armedBuild", build.dir);
  return () => build.remove();
}
