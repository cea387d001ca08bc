import { patched, setCurrentDetails } from "@temporalio/workflow";
import { RunRecord, type RunTerms } from "../core/engine/run-record.js";
import { isQuestionLeft } from "../core/engine/waits.js";
import { renderDetails } from "./run-details.js";

/** A record of a run that the details panel of the Web UI shows: as it is when somebody looks, for nobody does most of the time. */
export function openRecord(input: RunTerms, evaluatesConditions: boolean): RunRecord {
  const record = new RunRecord(input, evaluatesConditions);
  if (isQuestionLeft(record) && patched("no-question-left-behind")) record.question = undefined;
  const details = { toJSON: () => renderDetails(record.toRunState(), record.open?.graph) };
  setCurrentDetails(details as unknown as string); // the SDK keeps it, and writes it as JSON when it is asked for it
  return record;
}
