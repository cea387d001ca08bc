import type { Client as TemporalClient } from "@temporalio/client";
import { abortable } from "../client/abortable.js";
import type { RunHandle } from "../client/run-handle.js";
import { runsBelow } from "../client/runs-below.js";
import { reachesLowest } from "../client/standing-below.js";
import { defined } from "../core/defined.js";
import { firstLine } from "../core/run/run-note.js";
import { type AskedBelow, askedBelow, wayOn } from "./run-report.js";
import type { WorkSource } from "./watch-work.js";

const PAUSE_MS = 5_000;

/**
 * What a run waits for that has nothing under way, as it says itself. It is asked now and then: each time costs a worker. While a run
 * below it does not answer, what was said before still holds.
 */
export function saidByRun(temporal: TemporalClient, run: RunHandle): WorkSource["still"] & {} {
  let askAt = 0;
  let said: Awaited<ReturnType<WorkSource["still"] & {}>> = {};
  return async (patience) => {
    if (Date.now() < askAt) return said;
    askAt = Date.now() + PAUSE_MS;
    return abortable(temporal, patience, async () => {
      const state = await run.state();
      const below = await runsBelow(run, state);
      if (!reachesLowest(below, state)) return said;
      const asks = askedBelow(below);
      said = defined({ missing: state.model?.missing, asked: asks && askedWords(asks) });
      return said;
    });
  };
}

function askedWords(asks: AskedBelow): string {
  const where = `Run ${asks.runId} of ${asks.workflowRef}, below it, asks at ${asks.nodeId}`;
  return `${where}: ${firstLine(asks.text)} (${wayOn(asks.runId, asks)})`;
}
