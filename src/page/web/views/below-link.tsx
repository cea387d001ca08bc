import type { RunBelowState } from "../../../core/run/run-state.js";
import { runHref } from "../routes.js";
import { visibleLine } from "../visible.js";

/** Leads to the run of a subworkflow. */
export function BelowLink({ run: { runId, workflowRef } }: { readonly run: RunBelowState }) {
  return (
    <a href={runHref(runId)}>
      run {visibleLine(runId.slice(0, 8))} of {visibleLine(workflowRef)}
    </a>
  );
}
