import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DefaultLogger, type WorkflowBundleWithSourceMap, bundleWorkflowCode } from "@temporalio/worker";

/** Where the build puts the prebuilt bundle. */
const PREBUILT = fileURLToPath(new URL("../workflow-bundle.cjs", import.meta.url));

/**
 * Bundles the workflow code: compiled code in a build, source in a test. `interceptors` are the files of workflow interceptors
 * that are to go with it.
 */
export function bundleWorkflows(interceptors: readonly string[] = []): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: codeOf("index"),
    payloadConverterPath: codeOf("payload-converter"),
    workflowInterceptorModules: [...interceptors],
    failureConverterPath: codeOf("failure-converter"),
    preloadModules: [codeOf("shared-modules")],
    logger: new DefaultLogger("ERROR"),
  });
}

function codeOf(name: string): string {
  const [js, ts] = ["js", "ts"].map((end) =>
    fileURLToPath(new URL(`../workflows/${name}.${end}`, import.meta.url)),
  );
  return js !== undefined && existsSync(js) ? js : (ts ?? "");
}

let bundledNow: Promise<WorkflowBundleWithSourceMap> | undefined;

/** The prebuilt bundle, or, where there is none, one that is made once. */
export async function workflowBundle(): Promise<{ readonly codePath: string } | WorkflowBundleWithSourceMap> {
  if (existsSync(PREBUILT)) return { codePath: PREBUILT };
  bundledNow ??= bundleWorkflows();
  return bundledNow;
}
