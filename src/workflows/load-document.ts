import type { LoadedState } from "../core/run/opened-run.js";
import type { RunRecord } from "../core/engine/run-record.js";
import { localActivities, runActivities } from "./activity-options.js";
import { summary } from "./summary.js";

/**
 * The state document as it stands. A task of the workflow that is lost is done again, with all its local activities: in a run whose
 * steps are nodes it would find what its own later calls have made of the document. There a regular activity reads it.
 */
export function loadDocument(record: RunRecord, text: string): Promise<LoadedState> {
  const asked = record.scope;
  const shown = summary(text);
  if (record.pace.recordsReads) return runActivities["state.load"].executeWithOptions(shown, [asked]);
  return localActivities["state.load"].executeWithOptions(shown, [asked]);
}
