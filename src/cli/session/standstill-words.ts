import type { TaskFailure } from "../../client/runs/pending-work.js";
import { printable } from "../../core/printable.js";
import { shellName } from "../../core/text.js";

export const TEMPORAL_AWAY = "Temporal does not answer any more. It is asked again until it does.";
/** Said by what goes on: who comes next starts one. */
export const SERVER_ENDED =
  "The Temporal server of this store has ended. Stop this command and start it again: with it, a new one is started.";
export const TEMPORAL_BACK = "Temporal answers again.";
export const WORKER_ENDS = "The worker ends what it is at. That takes 20 seconds at most.";

/** Why a run stands still, and what ends that: as one paragraph. */
export function taskFailureWords(runId: string, { attempt, message }: TaskFailure): string {
  return `The run stands still: its workflow task fails, attempt ${attempt}: ${printable(message)} It goes on as soon as a worker can do it, such as one of the build that it was with before. Where none can, terminate it in the Web UI, or with: temporal workflow terminate. Then it goes on from its files with: interlock retry ${shellName(runId)}`;
}

/** What to do about a queue that nobody polls. `isHere`: it is that of the store on this machine; `since`: as `sentenceTime` gives it. */
export function noWorkerHint(
  { embedded, isHere }: { readonly embedded: boolean; readonly isHere: boolean },
  taskQueue: string,
  since = "",
): string {
  const start = embedded ? "Start one with: interlock dev" : "Start one with: interlock worker";
  const how = isHere ? start : "On the machine of its store, start one with: interlock worker";
  return `No worker polls the task queue "${printable(taskQueue)}"${since}: the run waits until one does. ${how}`;
}
