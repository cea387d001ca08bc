import { readFile } from "node:fs/promises";
import { type History, historyFromJSON } from "@temporalio/common/lib/proto-utils.js";
import { Worker } from "@temporalio/worker";
import { DeterminismViolationError } from "@temporalio/workflow";
import { workflowBundle } from "./workflow-bundle.js";

/** Whether a history leads the code at hand to the same decisions. */
export type ReplayVerdict =
  | { readonly ok: true; readonly events: number }
  | { readonly ok: false; readonly events: number; readonly departure: string };

/** Replays a history against the workflow code at hand: nothing is run, nothing is asked of a server. */
export async function replayHistory(history: History, workflowId = "replayed"): Promise<ReplayVerdict> {
  const events = history.events?.length ?? 0;
  try {
    await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history, workflowId);
    return { ok: true, events };
  } catch (error) {
    if (!(error instanceof DeterminismViolationError)) throw error;
    return { ok: false, events, departure: error.message };
  }
}

/** A history file as `temporal workflow show --output json` and `interlock export` write it. Throws on anything else. */
export async function readHistory(path: string): Promise<History> {
  const value: unknown = JSON.parse(await readFile(path, "utf8"));
  const history = historyFromJSON(value);
  if ((history.events ?? []).length === 0) throw new Error("The file holds no events.");
  return history;
}
