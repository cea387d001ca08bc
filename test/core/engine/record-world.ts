import type { CarriedRun } from "../../../src/core/run/carried-run.js";
import type { OpenedRun, ResumedRun } from "../../../src/core/run/opened-run.js";
import { RunRecord, type RunTerms } from "../../../src/core/engine/run-record.js";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";

export const NOW = "2026-01-02T03:04:05.000Z";
export const RUN_ID = "0d7f2c1e-8f57-4d5f-9a43-2f6a3c1b9e10";

export const OPENED: OpenedRun = {
  run: {
    runId: RUN_ID,
    storeId: "store",
    projectId: "project",
    packageId: "package",
    workflowRef: "main",
    activeAgentId: "author",
  },
  keepsMemo: true,
  graph: {
    entryNodeId: "draft",
    nodes: [
      {
        id: "draft",
        type: "step",
        file: "draft.md",
        agentId: "writer",
        artifactTypes: [{ path: "artifacts/story.md", type: "storyDoc" }],
      },
      { id: "review", type: "step", file: "review.md" },
      { id: "aside", type: "step", file: "aside.md" },
      { id: "done", type: "end", file: "done.md" },
    ],
    edges: [
      { from: "draft", to: "review", label: "on" },
      { from: "draft", to: "aside", label: "off" },
      { from: "review", to: "done", label: "end" },
    ],
  },
};

export const USAGE = { modelTurns: 3, toolCalls: 4, promptTokens: 50, completionTokens: 6, cost: 0.5 };

export const RESUMED: ResumedRun = {
  visit: 2,
  turn: 1,
  usage: USAGE,
  phaseChanges: 7,
  audit: { lines: 9, sha256: "nine" },
};

interface Made {
  readonly terms?: Partial<RunTerms>;
  readonly opened?: Partial<OpenedRun>;
  readonly carried?: Partial<CarriedRun>;
  readonly evaluatesConditions?: boolean;
}

/** A run that is open and stands at its first node, `draft`. */
export function openedRecord({
  terms,
  opened,
  carried = {},
  evaluatesConditions = false,
}: Made = {}): RunRecord {
  const record = new RunRecord({ runId: RUN_ID, ...terms }, evaluatesConditions);
  record.begin({ ...OPENED, ...opened });
  record.update({ phase: "running", ...carried });
  return record;
}

/** The same with a story. */
export function storyRecord(made: Made = {}): RunRecord {
  const state = createInitialState({ storyId: "wrkf-1010", epicPrefix: "wrkf" });
  const story = { state, change: 0, unmetPreconditions: 0, visited: [] };
  return openedRecord({ ...made, carried: { story, ...made.carried } });
}

/** The record with its state document at a node. */
export function standAt(
  record: RunRecord,
  currentNodeId: string,
  stepsCompleted: readonly string[] = [],
): void {
  record.update({
    frontmatter: { ...record.frontmatter, currentNodeId, stepsCompleted: [...stepsCompleted] },
  });
}
