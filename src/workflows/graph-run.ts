import { GRAPH_RUN_WORKFLOW } from "../contract/names.js";
import type { GraphRunInput, Identified } from "../contract/run.js";
import type { RunResult } from "../core/run/run-result.js";
import { DEFAULT_ENGINE_LIMITS } from "../core/run/limits.js";
import { graphStateBrief } from "../core/engine/run-graph-state.js";
import { openActivities } from "./activity-options.js";
import { conductRun } from "./conduct-run.js";
import { askedPart, knowWaysOut, withGraphAtHand } from "./graph-parts.js";
import { enter, turnAway } from "./door.js";
import { afterGraphCall, runGraphCall } from "./graph-calls.js";
import type { RunKind } from "./run-kind.js";
import { closeVisit, openGraphState } from "./keep-graph-state.js";
import { loadDocument } from "./load-document.js";
import { openRecord } from "./open-record.js";
import { passNode } from "./pass-node.js";
import { summary } from "./summary.js";

/** Runs a graph workflow of a package: opens the run, visits nodes until it is complete, closes it. */
export async function graphRun(...args: [input: GraphRunInput]): Promise<RunResult> {
  const entered = enter(GRAPH_RUN_WORKFLOW, args);
  if (!entered.ok) return turnAway(entered.error);
  const input = entered.value;
  return conductRun(openRecord(input, input.evaluateConditions === true), graphKind(input));
}

function graphKind(input: Identified<GraphRunInput>): RunKind {
  const { carried: _, ...request } = input;
  return {
    async open(record, execution, isLeft) {
      const opening = { kind: "graph", input: request, execution, ...askedPart(record) } as const;
      const { "run.open": open } = openActivities(isLeft);
      return withGraphAtHand(await open.executeWithOptions(summary(input.packageId), [opening]));
    },
    async begin(record) {
      const loaded = record.opened.document ?? (await loadDocument(record, "state document"));
      await knowWaysOut(record, loaded.frontmatter.currentNodeId);
      record.update({ frontmatter: loaded.frontmatter, stateSha256: loaded.sha256 });
      const graphState = record.opened.graphState ?? input.parent?.graphState;
      await openGraphState(record, { ...input, ...(graphState === undefined ? {} : { graphState }) });
    },
    visitAlone: passNode,
    userMayFinish: false,
    limits: DEFAULT_ENGINE_LIMITS,
    conversation(record) {
      const isWhole = input.wholeRunConversation ?? record.opened.wholeRunConversation ?? false;
      return isWhole ? "run" : `visit-${record.carried.visit}`;
    },
    turnDetails(record) {
      const story = graphStateBrief(record);
      if (story === undefined) return {};
      return { recordsState: true, ...(record.carried.turn === 1 ? { story } : {}) };
    },
    endVisit: closeVisit,
    runCall: runGraphCall,
    afterCall: afterGraphCall,
  };
}
