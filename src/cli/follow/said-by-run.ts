import type { Client as TemporalClient } from "@temporalio/client";
import { abortable } from "../../client/temporal/abortable.js";
import type { RunHandle } from "../../client/run-handle.js";
import { runsBelow } from "../../client/runs-below.js";
import { silentBelow } from "../../client/standing-below.js";
import { defined } from "../../core/defined.js";
import { firstLine } from "../../core/run/listed-texts.js";
import { wayOn } from "../report/print-report.js";
import { type AskedBelow, askedBelow } from "../report/run-report.js";
import type { WorkSource } from "./watch-work.js";

/**
 * What a run waits for that has nothing under way, as it says itself. Rejects where it, or a run below it, does not answer before the
 * signal: then nobody knows.
 */
export function saidByRun(temporal: TemporalClient, run: RunHandle): WorkSource["still"] & {} {
  return (patience) =>
    abortable(temporal, patience, async () => {
      const state = await run.state();
      const below = await runsBelow(run, state);
      if (silentBelow(below, state) !== undefined) throw new Error("A run below does not answer.");
      const asks = askedBelow(below);
      return defined({ missing: state.model?.missing, asked: asks && askedWords(asks) });
    });
}

function askedWords(asks: AskedBelow): string {
  const where = `Run ${asks.runId} of ${asks.workflowRef}, below it, asks at ${asks.nodeId}`;
  return `${where}: ${firstLine(asks.text)} (${wayOn(asks.runId, asks)})`;
}
