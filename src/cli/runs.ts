import { resolve } from "node:path";
import { excerpt } from "../core/text.js";
import type { RunMetadata } from "../store/run-index.js";
import { openEnvironment } from "./environment.js";
import type { RunSurvey } from "../store/run-manager.js";
import type { Store } from "../store/store.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson, printNote } from "./output.js";

/** `interlock runs`: what this store has run. */
export async function runsCommand(options: { project?: string; json?: boolean }): Promise<ExitCode> {
  const { store } = await openEnvironment();
  const { runs, damaged } =
    options.project === undefined
      ? await store.runs.surveyRuns()
      : await runsOf(store, resolve(options.project));
  for (const { error } of damaged) printNote(error.message);
  if (options.json === true) printJson(runs);
  else if (runs.length === 0 && damaged.length === 0)
    print("No runs yet. Start one with: interlock run <package> --project <dir>");
  else {
    for (const run of runs)
      print(`${run.runId}  ${run.phase.padEnd(12)}  ${run.createdAt}  ${nameOf(run)}${workflowOf(run)}`);
  }
  return damaged.length === 0 ? EXIT.done : EXIT.failed;
}

async function runsOf(store: Store, projectRoot: string): Promise<RunSurvey> {
  const listed = await store.runs.listRuns(projectRoot);
  if (listed.ok) return { runs: listed.value, damaged: [] };
  if (listed.error.code === "E_INTERNAL") throw new CommandError(listed.error.message);
  throw new UsageError(listed.error.message);
}

/** The workflow of a run, where it is called otherwise than the run. */
function workflowOf({ workflowId }: RunMetadata): string {
  return workflowId === undefined ? "" : `  ${excerpt(workflowId)}`;
}

/** A bundle holds many workflows, and its own name says little. */
function nameOf({ packageId, workflowRef, bundle }: RunMetadata): string {
  return bundle === undefined ? packageId : `${packageId} ${workflowRef}`;
}
