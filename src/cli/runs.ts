import { resolve } from "node:path";
import { excerpt } from "../core/text.js";
import type { RunMetadata } from "../store/run-index.js";
import { openEnvironment } from "./environment.js";
import { EXIT, type ExitCode, UsageError, print, printJson } from "./output.js";

/** `interlock runs`: what this store has run. */
export async function runsCommand(options: { project?: string; json?: boolean }): Promise<ExitCode> {
  const { store } = await openEnvironment();
  const listed =
    options.project === undefined
      ? { ok: true as const, value: await store.runs.listAllRuns() }
      : await store.runs.listRuns(resolve(options.project));
  if (!listed.ok) throw new UsageError(listed.error.message);
  if (options.json === true) printJson(listed.value);
  else if (listed.value.length === 0)
    print("No runs yet. Start one with: interlock run <package> --project <dir>");
  else {
    for (const run of listed.value)
      print(`${run.runId}  ${run.phase.padEnd(12)}  ${run.createdAt}  ${nameOf(run)}${workflowOf(run)}`);
  }
  return EXIT.done;
}

/** The workflow of a run, where it is called otherwise than the run. */
function workflowOf({ workflowId }: RunMetadata): string {
  return workflowId === undefined ? "" : `  ${excerpt(workflowId)}`;
}

/** A bundle holds many workflows, and its own name says little. */
function nameOf({ packageId, workflowRef, bundle }: RunMetadata): string {
  return bundle === undefined ? packageId : `${packageId} ${workflowRef}`;
}
