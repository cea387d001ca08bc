import { setCurrentDetails } from "@temporalio/workflow";
import type { PlannedCall, ToolCallOutcome } from "../contract/activities.js";
import type {
  AuditHead,
  CarriedRun,
  GraphRunInput,
  ProgressLine,
  Question,
  RunPhase,
  RunRef,
  RunState,
} from "../contract/run.js";
import { NO_LOOP } from "../core/engine/loop-detection.js";
import type { Fault } from "../core/errors.js";
import { type ConditionData, type WorkflowGraph, allowedNext, findNode } from "../core/package/graph.js";
import type { Frontmatter } from "../core/state/frontmatter.js";
import { type ConditionFacts, conditionFacts, effectiveNodeId } from "../core/state/transition-guard.js";

const PROGRESS_LINES = 60;

/** A user's answer that has arrived and waits to be written down. */
export interface PendingAnswer {
  readonly id: string;
  readonly text: string;
}

/** What a run knows once it is open. */
export interface OpenRecord {
  readonly run: RunRef;
  readonly graph: WorkflowGraph;
}

/**
 * The run as its workflow holds it. `carried` is all that survives continue-as-new; the rest is derived from the
 * package or belongs to one wait.
 */
export class RunRecord {
  readonly input: GraphRunInput;
  open: OpenRecord | undefined;
  carried: CarriedRun;
  question: Question | undefined;
  answer: PendingAnswer | undefined;
  failure: Fault | undefined;

  constructor(input: GraphRunInput) {
    this.input = input;
    this.carried = input.carried ?? FRESH;
  }

  /** The opened run; asking before `run.open` has succeeded is a bug. */
  get opened(): OpenRecord {
    if (this.open === undefined) throw new Error("The run is not open yet.");
    return this.open;
  }

  get frontmatter(): Frontmatter {
    return this.carried.frontmatter;
  }

  get nodeId(): string {
    return this.open === undefined ? "" : effectiveNodeId(this.frontmatter.currentNodeId, this.open.graph);
  }

  /** What conditions of edges see; undefined while they are guidance only. */
  get conditions(): ConditionFacts | undefined {
    if (this.input.evaluateConditions !== true) return undefined;
    return conditionFacts(this.carried.story?.state);
  }

  get conditionData(): ConditionData | undefined {
    const { conditions } = this;
    return conditions && { variables: this.frontmatter.variables, ...conditions };
  }

  update(change: Partial<CarriedRun>): void {
    this.carried = { ...this.carried, ...change };
  }

  /** Adds a line to the live view and redraws the details panel of the Web UI. */
  note(text: string, nodeId = this.nodeId): void {
    const last = this.carried.progress.at(-1)?.seq ?? 0;
    const line: ProgressLine = { seq: last + 1, nodeId, text: text.slice(0, 300) };
    this.update({ progress: [...this.carried.progress, line].slice(-PROGRESS_LINES) });
    setCurrentDetails(renderDetails(this.toRunState()));
  }

  noteCall(nodeId: string, call: PlannedCall, outcome: ToolCallOutcome): void {
    this.update({ usage: { ...this.carried.usage, toolCalls: this.carried.usage.toolCalls + 1 } });
    this.noteAudit(outcome.audit);
    this.note(outcome.ok ? call.summary : `${call.summary} → ${outcome.code ?? "failed"}`, nodeId);
  }

  /** Keeps the newest head of the audit chain; reads that ran side by side report in any order. */
  noteAudit(audit: AuditHead): void {
    if (audit.lines >= this.carried.audit.lines) this.update({ audit });
  }

  toRunState(): RunState {
    const { carried, open } = this;
    return {
      runId: this.input.runId,
      projectId: open?.run.projectId ?? "",
      packageId: this.input.packageId,
      workflowRef: open?.run.workflowRef ?? this.input.workflowRef ?? "",
      phase: carried.phase,
      currentNodeId: this.nodeId,
      stepsCompleted: carried.frontmatter.stepsCompleted,
      allowedNext: open === undefined ? [] : allowedNext(open.graph, this.nodeId, this.conditionData),
      variables: carried.frontmatter.variables,
      artifacts: carried.frontmatter.artifacts,
      ...(this.question === undefined ? {} : { question: this.question }),
      ...(this.failure === undefined ? {} : { failure: this.failure }),
      usage: carried.usage,
      visit: carried.visit,
      turn: carried.turn,
      progress: carried.progress,
      audit: carried.audit,
    };
  }

  setPhase(phase: RunPhase): void {
    this.update({ phase, phaseChanges: this.carried.phaseChanges + 1 });
  }
}

const FRESH: CarriedRun = {
  phase: "idle",
  frontmatter: {
    schemaVersion: "1.1",
    workflowType: "",
    currentNodeId: "",
    stepsCompleted: [],
    variables: {},
    decisionLog: [],
    artifacts: [],
  },
  stateSha256: "",
  visit: 0,
  turn: 0,
  usage: { modelTurns: 0, toolCalls: 0, promptTokens: 0, completionTokens: 0 },
  loop: NO_LOOP,
  progress: [],
  audit: { lines: 0, sha256: "" },
  phaseChanges: 0,
};

/** The run as Markdown for Temporal's Web UI. */
function renderDetails(state: RunState): string {
  const lines = [
    `**${state.phase}** at \`${state.currentNodeId}\`, visit ${state.visit}, turn ${state.turn}`,
    "",
    `Steps completed: ${state.stepsCompleted.map((step) => `\`${step}\``).join(", ") || "none"}`,
    "",
    `Model turns ${state.usage.modelTurns}, tool calls ${state.usage.toolCalls}, tokens ${state.usage.promptTokens} in and ${state.usage.completionTokens} out.`,
  ];
  if (state.question !== undefined) {
    lines.push("", `**Question at \`${state.question.nodeId}\`:**`, "", state.question.text);
    lines.push("", "```", `interlock answer ${state.runId} "…"`, "```");
  }
  if (state.artifacts.length > 0)
    lines.push("", "Artifacts:", ...state.artifacts.map((path) => `- \`${path}\``));
  lines.push("", "Latest:", ...state.progress.slice(-8).map((line) => `- ${line.nodeId}: ${line.text}`));
  return lines.join("\n").slice(0, 16_000);
}

/** The agent of a node: its own, else the run's (contracts §8). */
export function effectiveAgentId(open: OpenRecord, nodeId: string): string {
  return findNode(open.graph, nodeId)?.agentId ?? open.run.activeAgentId;
}
