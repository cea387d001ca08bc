import { setCurrentDetails } from "@temporalio/workflow";
import type { OpenedRun, PlannedCall, ToolCallOutcome } from "../contract/activities.js";
import type { Identified, RunInput } from "../contract/run.js";
import type { AuditHead } from "../core/run/audit-head.js";
import type { Budget } from "../core/run/budget.js";
import type { CarriedRun } from "../core/run/carried-run.js";
import type { RunPhase } from "../core/run/phase.js";
import type { Question } from "../core/run/question.js";
import type { ProgressLine, RunState } from "../core/run/run-state.js";
import { NO_USAGE, type Usage } from "../core/run/usage.js";
import { NO_LOOP } from "../core/run/loop-detection.js";
import type { Fault } from "../core/errors.js";
import { type ConditionData, allowedNext, findNode } from "../core/package/graph.js";
import { isComplete } from "../core/state/completion.js";
import type { Frontmatter } from "../core/state/state-frontmatter.js";
import { type ConditionFacts, conditionFacts, effectiveNodeId } from "../core/state/transition-guard.js";
import { renderDetails } from "./run-details.js";

const PROGRESS_LINES = 60;
const PROGRESS_CHARS = 8_000;

/** A user's answer that has arrived and waits to be written down. */
export interface PendingAnswer {
  readonly id: string;
  readonly text: string;
}

/**
 * The run as its workflow holds it. `carried` is all that survives continue-as-new; the rest is derived from the
 * package or belongs to one wait.
 */
export class RunRecord {
  readonly input: Identified<RunInput>;
  /** Conditions of edges are evaluated, not only shown (contracts §6). */
  private readonly evaluatesConditions: boolean;
  open: OpenedRun | undefined;
  carried: CarriedRun;
  question: Question | undefined;
  answer: PendingAnswer | undefined;
  failure: Fault | undefined;
  /** What the last recorded phase change said of pause and budget. */
  private recorded: { readonly paused: boolean; readonly budget: Budget };

  constructor(input: Identified<RunInput>, evaluatesConditions: boolean) {
    this.input = input;
    this.evaluatesConditions = evaluatesConditions;
    this.carried = input.carried ?? { ...FRESH, budget: input.budget ?? {} };
    this.recorded = this.carried;
  }

  /** The opened run; asking before `run.open` has succeeded is a bug. */
  get opened(): OpenedRun {
    if (this.open === undefined) throw new Error("The run is not open yet.");
    return this.open;
  }

  /** Whoever starts the run may say it, else its worker has looked; nothing is set where nobody knows yet. */
  mayBeSearchedBy(attribute: string): boolean {
    const { searchAttributes: isSaid } = this.input;
    if (isSaid !== undefined || this.open === undefined) return isSaid === true;
    return this.open.searchAttributes?.includes(attribute) ?? true;
  }

  get frontmatter(): Frontmatter {
    return this.carried.frontmatter;
  }

  get nodeId(): string {
    return this.open === undefined ? "" : effectiveNodeId(this.frontmatter.currentNodeId, this.open.graph);
  }

  /** By its graph, by its last word, or because the user has ended it. */
  get isComplete(): boolean {
    return this.carried.ended || isComplete(this.frontmatter, this.opened.graph);
  }

  /** What conditions of edges see; undefined while they are guidance only. */
  get conditions(): ConditionFacts | undefined {
    return this.evaluatesConditions ? conditionFacts(this.carried.story?.state) : undefined;
  }

  get conditionData(): ConditionData | undefined {
    const { conditions } = this;
    return conditions && { variables: this.frontmatter.variables, ...conditions };
  }

  /** What an execution knew that was reset: the run goes on from what is on disk. */
  forget(): void {
    const { visiting: _, story: _story, ...kept } = this.carried;
    const { frontmatter, visit, turn, usage, visitUsage, ended, loop, audit } = FRESH;
    this.carried = { ...kept, frontmatter, visit, turn, usage, visitUsage, ended, loop, audit };
  }

  update(change: Partial<CarriedRun>): void {
    this.carried = { ...this.carried, ...change };
  }

  /** Counts what was used, for the run and for the visit. */
  use(used: Partial<Usage>): void {
    const { usage, visitUsage } = this.carried;
    this.update({ usage: addUsage(usage, used), visitUsage: addUsage(visitUsage, used) });
  }

  /** Adds a line to the live view and redraws the details panel of the Web UI. */
  note(text: string, nodeId = this.nodeId): void {
    const last = this.carried.progress.at(-1)?.seq ?? 0;
    const line: ProgressLine = { seq: last + 1, nodeId: nodeId.slice(0, 200), text: text.slice(0, 300) };
    this.update({ progress: newestLines([...this.carried.progress, line]) });
    setCurrentDetails(renderDetails(this.toRunState()));
  }

  noteCall(nodeId: string, call: PlannedCall, outcome: ToolCallOutcome): void {
    this.use({ toolCalls: 1 });
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
      packageId: open?.run.packageId ?? "",
      workflowRef: open?.run.workflowRef ?? "",
      phase: carried.phase,
      currentNodeId: this.nodeId,
      stepsCompleted: carried.frontmatter.stepsCompleted,
      allowedNext: open === undefined ? [] : allowedNext(open.graph, this.nodeId, this.conditionData),
      variables: carried.frontmatter.variables,
      artifacts: carried.frontmatter.artifacts,
      ...(this.question === undefined ? {} : { question: this.question }),
      ...(this.failure === undefined ? {} : { failure: this.failure }),
      paused: carried.paused,
      budget: carried.budget,
      usage: carried.usage,
      visit: carried.visit,
      turn: carried.turn,
      progress: carried.progress,
      audit: carried.audit,
    };
  }

  setPhase(phase: RunPhase): void {
    this.update({ phase, phaseChanges: this.carried.phaseChanges + 1 });
    this.recorded = this.carried;
  }

  /** Pause and budget are as the last phase change recorded them. */
  get isRecorded(): boolean {
    const { paused, budget } = this.carried;
    return this.recorded.paused === paused && this.recorded.budget === budget;
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
  usage: NO_USAGE,
  visitUsage: NO_USAGE,
  budget: {},
  paused: false,
  ended: false,
  loop: NO_LOOP,
  progress: [],
  audit: { lines: 0, sha256: "" },
  phaseChanges: 0,
};

function addUsage(usage: Usage, used: Partial<Usage>): Usage {
  return {
    modelTurns: usage.modelTurns + (used.modelTurns ?? 0),
    toolCalls: usage.toolCalls + (used.toolCalls ?? 0),
    promptTokens: usage.promptTokens + (used.promptTokens ?? 0),
    completionTokens: usage.completionTokens + (used.completionTokens ?? 0),
    cost: usage.cost + (used.cost ?? 0),
  };
}

/** The newest lines, few and short enough for the run to be carried over in one value. */
function newestLines(lines: readonly ProgressLine[]): readonly ProgressLine[] {
  let chars = 0;
  let first = lines.length;
  while (first > Math.max(0, lines.length - PROGRESS_LINES)) {
    const { nodeId, text } = lines[first - 1] ?? { nodeId: "", text: "" };
    chars += nodeId.length + text.length;
    if (chars > PROGRESS_CHARS) break;
    first -= 1;
  }
  return lines.slice(first);
}

/** The agent of a node: its own, else the run's (contracts §8). */
export function effectiveAgentId(open: OpenedRun, nodeId: string): string {
  return findNode(open.graph, nodeId)?.agentId ?? open.run.activeAgentId;
}
