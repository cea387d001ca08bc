import { setCurrentDetails } from "@temporalio/workflow";
import { RunRecord, type RunTerms } from "../core/run/run-record.js";
import { renderDetails } from "./run-details.js";

/** A record of a run that the details panel of the Web UI shows. */
export function openRecord(input: RunTerms, evaluatesConditions: boolean): RunRecord {
  return new RunRecord(input, evaluatesConditions, (state, graph) =>
    setCurrentDetails(renderDetails(state, graph)),
  );
}
