import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DefaultLogger, bundleWorkflowCode } from "@temporalio/worker";
import { slim } from "../../src/worker/workflow-bundle.js";

/**
 * A later build of the workflow code: today's, with a timer before each model turn. `patched` has the timer guarded, as a change
 * is to be made; `unguarded` has not.
 */
export async function buildNext(change: "patched" | "unguarded"): Promise<{ readonly codePath: string }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL("../../src/workflows/index.ts", import.meta.url)),
    workflowInterceptorModules: [fileURLToPath(new URL(`./${change}-timer.ts`, import.meta.url))],
    logger: new DefaultLogger("ERROR"),
  });
  const codePath = join(await mkdtemp(join(tmpdir(), "interlock-next-")), "workflow-bundle.cjs");
  await writeFile(codePath, slim(code));
  return { codePath };
}
