import type { Fault } from "../core/errors.js";
import type { RunFiles } from "../store/run-files.js";
import type { RunMetadata } from "../store/run-index.js";
import type { Store } from "../store/store.js";
import { CommandError, noSuchRun } from "./output.js";

/** What to say of a run that was not found: that there is none, or what keeps it from being found. */
export function notFound(runId: string, fault: Fault): Error {
  return fault.code === "E_RUN_NOT_FOUND" ? noSuchRun(runId) : new CommandError(fault.message);
}

/** What to say of a run that the store lists and whose folder is not there. */
export function folderMissing(runId: string): string {
  return `The store lists run ${runId}, but its folder is missing, or no folder of the store. Restore it from a backup.`;
}

/** A run of this store and its files. Throws a sentence that says which of them is missing. */
export async function openRunFolder(
  store: Store,
  runId: string,
): Promise<{ readonly run: RunMetadata; readonly files: RunFiles }> {
  const run = await store.runs.findRun(runId);
  if (!run.ok) throw notFound(runId, run.error);
  const files = await store.runs.openFiles(run.value.projectId, run.value.runId);
  if (!files.ok) throw new CommandError(folderMissing(runId));
  return { run: run.value, files: files.value };
}
