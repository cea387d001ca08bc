import { BUNDLE_RUN_WORKFLOW } from "../contract/names.js";
import type { BundleRunInput, Identified } from "../contract/run.js";
import type { RunResult } from "../core/run/run-result.js";
import { listOutput } from "../core/bundle/listed-outputs.js";
import { DEFAULT_ENGINE_LIMITS } from "../core/run/limits.js";
import { localActivities, openActivities } from "./activity-options.js";
import { conductRun } from "./conduct-run.js";
import { withGraphAtHand } from "./graph-parts.js";
import { enter, turnAway } from "./door.js";
import type { RunKind } from "./run-kind.js";
import { openRecord } from "./open-record.js";
import { shielded } from "./steps-by-node.js";
import { summary } from "./summary.js";

const GOES_ON = "The run was interrupted here and goes on now.";
const UNANSWERED = `${GOES_ON} If your last answer was a question to the user, nobody has answered it: ask it again.`;

/** Runs a workflow that the model orchestrates itself (contracts §13): one long visit, until it is done. */
export async function bundleRun(...args: [input: BundleRunInput]): Promise<RunResult> {
  const entered = enter(BUNDLE_RUN_WORKFLOW, args);
  if (!entered.ok) return turnAway(entered.error);
  const input = entered.value;
  return conductRun(openRecord(input, false), bundleKind(input));
}

function bundleKind(input: Identified<BundleRunInput>): RunKind {
  const { carried: _, ...request } = input;
  return {
    async open(_record, execution, isLeft) {
      const opening = { kind: "bundle", input: request, execution } as const;
      const { "run.open": open } = openActivities(isLeft);
      return withGraphAtHand(await open.executeWithOptions({ summary: "bundle" }, [opening]));
    },
    begin(record) {
      const { run, resumed } = record.opened;
      const artifacts = resumed?.saved ?? [];
      record.update({ frontmatter: { ...record.frontmatter, workflowType: run.workflowRef, artifacts } });
      if (resumed?.isCompleted === true) {
        record.update({ ended: true });
        record.update({ frontmatter: { ...record.frontmatter, stepsCompleted: [record.nodeId] } });
      } else if (resumed !== undefined && resumed.visit > 0) {
        const correction = resumed.isUnanswered === true ? UNANSWERED : GOES_ON;
        record.update({ visiting: { nodeId: record.nodeId, intent: "resume", correction } });
      }
      return Promise.resolve();
    },
    userMayFinish: true,
    // The whole run is one visit.
    limits: { ...DEFAULT_ENGINE_LIMITS, maxTurnsPerNode: DEFAULT_ENGINE_LIMITS.maxTurnsPerRun },
    conversation: () => "run",
    turnDetails: () => (input.yolo === true ? { yolo: true } : {}),
    endVisit(record, nodeId) {
      record.update({ frontmatter: { ...record.frontmatter, stepsCompleted: [nodeId] } });
    },
    async runCall(record, call, toolInput, done) {
      if (done !== undefined) return done;
      if (call.tool === undefined) throw new Error(`The call ${call.id} has neither a tool nor a fault.`);
      const activity = localActivities[call.tool];
      return shielded(record, () => activity.executeWithOptions(summary(call.summary), [toolInput]));
    },
    afterCall(record, _nodeId, call, { ok, path }) {
      if (call.tool !== "save_output" || !ok || path === undefined) return;
      const artifacts = listOutput(record.frontmatter.artifacts, path);
      record.update({ frontmatter: { ...record.frontmatter, artifacts } });
    },
  };
}
