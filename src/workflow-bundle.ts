import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DefaultLogger, type WorkflowBundleWithSourceMap, bundleWorkflowCode } from "@temporalio/worker";

/** Where the build puts the prebuilt bundle. */
const PREBUILT = fileURLToPath(new URL("./workflow-bundle.cjs", import.meta.url));

/** Bundles the workflow code beside this file: compiled code in a build, source in a test. */
export function bundleWorkflows(): Promise<WorkflowBundleWithSourceMap> {
  const js = fileURLToPath(new URL("./workflows/index.js", import.meta.url));
  const ts = fileURLToPath(new URL("./workflows/index.ts", import.meta.url));
  return bundleWorkflowCode({ workflowsPath: existsSync(js) ? js : ts, logger: new DefaultLogger("ERROR") });
}

let bundledNow: Promise<WorkflowBundleWithSourceMap> | undefined;

/** The prebuilt bundle, or, where there is none, one that is made once. */
export async function workflowBundle(): Promise<{ readonly codePath: string } | WorkflowBundleWithSourceMap> {
  if (existsSync(PREBUILT)) return { codePath: PREBUILT };
  bundledNow ??= bundleWorkflows();
  return bundledNow;
}
