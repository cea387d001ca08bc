import type { RunBelowState } from "../../../core/run/run-state.js";
import { shortRunId } from "../../../core/run/run-id.js";
import { runHref } from "../routes.js";
import { visibleLine } from "../visible.js";

/** Leads to the run of a subworkflow. */
export function BelowLink({ run: { runId, workflowRef } }: { readonly run: RunBelowState }) {
  return (
    <a href={runHref(runId)}>
      run {visibleLine(shortRunId(runId))} of {visibleLine(workflowRef)}
    </a>
  );
}
