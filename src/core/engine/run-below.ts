import type { ErrorCode, Fault } from "../errors.js";
import { ended } from "../text.js";
import { type Budget, budgetLeft } from "../run/budget.js";
import type { HandsUp } from "../run/run-result.js";
import { tellGraphState } from "./run-graph-state.js";
import { tellArtifact } from "./state-changes.js";
import type { RunRecord } from "./run-record.js";
import type { Usage } from "../run/usage.js";

/** What is decided about the run of a subworkflow, which the run above it has started (contracts §9). */

/** What the run below may use: what is left of the run's own budget, and as much for each of its visits. */
export function budgetBelow({ carried }: RunRecord): Budget | undefined {
  const { budget, usage } = carried;
  const { run, node } = budget;
  if (run === undefined && node === undefined) return undefined;
  return {
    ...(run === undefined ? {} : { run: budgetLeft(run, usage) }),
    ...(node === undefined ? {} : { node }),
  };
}

/** What a run below has come to. */
export interface EndBelow {
  readonly artifacts: readonly string[];
  readonly usage: Usage;
  readonly handsUp?: HandsUp;
}

/** It has completed: what it has used is used of this run, its artifacts are those of the node, and the story goes on as it left it. */
export function takeEndBelow(
  record: RunRecord,
  nodeId: string,
  { artifacts, usage, handsUp }: EndBelow,
): void {
  record.use(usage);
  record.update({ turnsBelow: (record.carried.turnsBelow ?? 0) + usage.modelTurns });
  const { graphState } = handsUp ?? {};
  if (graphState !== undefined) tellGraphState(record, { kind: "below", state: graphState });
  for (const artifact of artifacts) tellArtifact(record, nodeId, `@project/${artifact}`);
}

/** It has not completed: why, which run it is, and how both go on. */
export function faultBelow(
  record: RunRecord,
  below: { readonly runId: string; readonly nodeId: string },
  { code, message }: { readonly code: ErrorCode; readonly message: string },
): Fault {
  const remedy = `Once that is mended, let this run go on, and with it that one: interlock retry ${record.input.runId}`;
  return {
    code,
    message: `The subworkflow at ${below.nodeId}, run ${below.runId}, has not completed: ${ended(message)} ${remedy}`,
  };
}
