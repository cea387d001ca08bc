import { existsSync } from "node:fs";
import { DefaultLogger, type WorkflowBundleWithSourceMap, bundleWorkflowCode } from "@temporalio/worker";
import { codeFile, moduleFile } from "../package-place.js";

/** Where the build puts the prebuilt bundle. */
const PREBUILT = codeFile("workflow-bundle.cjs");

/**
 * Bundles the workflow code: compiled code in a build, source in a test. `interceptors` are the files of workflow interceptors
 * that are to go with it.
 */
export async function bundleWorkflows(
  interceptors: readonly string[] = [],
): Promise<WorkflowBundleWithSourceMap> {
  const bundle = await bundleWorkflowCode({
    workflowsPath: moduleFile("workflows/index"),
    payloadConverterPath: moduleFile("workflows/payload-converter"),
    workflowInterceptorModules: [...interceptors],
    failureConverterPath: moduleFile("workflows/failure-converter"),
    preloadModules: [moduleFile("workflows/short-traces"), moduleFile("workflows/shared-modules")],
    logger: new DefaultLogger("ERROR"),
    webpackConfigHook: (config) => ({ ...config, devtool: "inline-nosources-cheap-source-map" }),
  });
  return { ...bundle, code: slim(bundle.code) };
}

/**
 * The map from the bundle to its sources takes a worker 40 MB, and each promise of a run a look into it: stack traces name places in
 * the bundle instead. Temporal's SDK insists on there being a map, and webpack makes the one that costs least. With nothing but
 * ASCII in it the code takes half of the memory, of which a worker has several copies: 11 MB.
 */
export function slim(code: string): string {
  const empty = { version: 3, file: "workflow-bundle.js", sources: [], names: [], mappings: "" };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(empty)).toString("base64")}`;
  return `${escaped(code.slice(0, code.lastIndexOf("//# sourceMappingURL=")))}//# sourceMappingURL=${url}`;
}

/** The same code. After a backslash an escape would be read as something else: there the character stays. */
function escaped(code: string): string {
  return code.replace(
    /(?<!\\)[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

let bundledNow: Promise<WorkflowBundleWithSourceMap> | undefined;

/** The prebuilt bundle, or, where there is none, one that is made once. */
export async function workflowBundle(): Promise<{ readonly codePath: string } | WorkflowBundleWithSourceMap> {
  if (existsSync(PREBUILT)) return { codePath: PREBUILT };
  bundledNow ??= bundleWorkflows();
  return bundledNow;
}
