import { defined } from "../defined.js";
import type { Fault } from "../errors.js";
import type { StepSize } from "../step-size.js";
import { type ConditionData, type WorkflowGraph, allowedNext, findNode } from "../package/graph.js";
import { joinedParts } from "../package/graph-part.js";
import type { Intent } from "../prompt/shells.js";
import { isComplete } from "../state/completion.js";
import { earlierArtifactsOf } from "../state/earlier-entries.js";
import type { Frontmatter } from "../state/state-frontmatter.js";
import { type ConditionFacts, conditionFacts, effectiveNodeId } from "../state/transition-guard.js";
import type { AuditHead } from "../run/audit-head.js";
import type { Budget } from "../run/budget.js";
import { type CarriedRun, FIRST_WORDS_ID } from "../run/carried-run.js";
import type { EngineLimits } from "../run/limits.js";
import { NO_LOOP } from "../run/loop-detection.js";
import { NodePace } from "./node-pace.js";
import type { OpenedRun } from "../run/opened-run.js";
import { type RunPhase, isOverPhase } from "../run/phase.js";
import type { Question } from "../run/question.js";
import type { LastUserAnswer, ProgressLine, RunBelowState, RunState } from "../run/run-state.js";
import { type ModelRef, modelsOf } from "../run/run-model.js";
import { carriedLines } from "./progress-lines.js";
import type { RunRef } from "../run/run-ref.js";
import { NO_USAGE, type Usage, addUsage } from "../run/usage.js";

/** What of a run's input its decisions depend on. */
export interface RunTerms {
  readonly runId: string;
  readonly projectRoot?: string;
  readonly input?: string;
  readonly autopilot?: boolean;
  readonly limits?: Partial<EngineLimits>;
  readonly budget?: Budget;
  readonly searchAttributes?: boolean;
  readonly steps?: StepSize;
  readonly resume?: boolean;
  readonly signature?: string;
  readonly carried?: CarriedRun;
  readonly parent?: { readonly runId: string; readonly returns?: readonly string[] };
}

/** A user's answer that has arrived and waits to be written down. */
export interface PendingAnswer {
  readonly id: string;
  readonly text: string;
  /** Who gave it, as they say. */
  readonly by?: string;
}

/**
 * The run as its workflow holds it, and what changes in it: no step of it waits or has an effect. `carried` is all that
 * survives continue-as-new; the rest is derived from the package or belongs to one wait.
 */
export class RunRecord {
  readonly input: RunTerms;
  /** Conditions of edges are evaluated, not only shown (contracts §6). */
  private readonly evaluatesConditions: boolean;
  readonly pace = new NodePace(this);
  open: OpenedRun | undefined;
  carried: CarriedRun;
  question: Question | undefined;
  answer: PendingAnswer | undefined;
  failure: Fault | undefined;
  /** The run of a subworkflow that is waited for. */
  below: RunBelowState | undefined;
  /** A turn, or a node that was passed, was told that Temporal suggests to continue as new. */
  isLong = false;
  /** What the last recorded phase change said of pause and budget. */
  private recorded: { readonly paused: boolean; readonly budget: Budget };

  constructor(input: RunTerms, evaluatesConditions: boolean) {
    this.input = input;
    this.evaluatesConditions = evaluatesConditions;
    this.carried = input.carried ?? { ...FRESH, budget: input.budget ?? {} };
    this.recorded = this.carried;
    this.question = this.carried.question;
  }

  /** The opened run; asking before `run.open` has succeeded is a bug. */
  get opened(): OpenedRun {
    if (this.open === undefined) throw new Error("The run is not open yet.");
    return this.open;
  }

  /** What an activity is told of whose it is: files that lack what the run has seen are not gone on with. */
  get scope(): { readonly run: RunRef; readonly auditLines: number } {
    return { run: this.opened.run, auditLines: this.carried.audit.lines };
  }

  /** What its worker has found counts, else what whoever started the run says; nothing is set where nobody knows yet. */
  mayBeSearchedBy(attribute: string): boolean {
    const { searchAttributes: isSaid } = this.input;
    if (this.open?.seals === true) return this.open.searchAttributes?.includes(attribute) === true;
    if (isSaid === false || this.open === undefined) return isSaid === true;
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

  /** It has completed or failed. */
  get isOver(): boolean {
    return isOverPhase(this.carried.phase);
  }

  /** A fork that does not begin where its source began: the user's first words were for another node. */
  get isUnderWay(): boolean {
    return (this.opened.forkedAfter ?? 0) > 0;
  }

  /** The user's first words, where they are to be written down before the next turn. */
  get firstWords(): string | undefined {
    const words = this.isUnderWay ? "" : (this.input.input ?? "");
    return this.carried.turn === 0 && this.ownTurns === 0 && words !== "" ? words : undefined;
  }

  /** The model turns of the run itself, without those of runs below it. */
  get ownTurns(): number {
    const { usage, turnsBelow = 0 } = this.carried;
    return usage.modelTurns - turnsBelow;
  }

  /** The models of a node's agent, in the order in which they are asked; none where each worker asks its own. */
  modelsAt(nodeId: string): readonly ModelRef[] {
    return modelsOf(this.carried.models, this.agentOf(nodeId));
  }

  /** What conditions of edges see; undefined while they are guidance only. */
  get conditions(): ConditionFacts | undefined {
    return this.evaluatesConditions ? conditionFacts(this.carried.story?.state) : undefined;
  }

  get conditionData(): ConditionData | undefined {
    const { conditions } = this;
    return conditions && { variables: this.frontmatter.variables, ...conditions };
  }

  /**
   * A node's work is one step in the history (contracts §9). A worker that knew of no such steps passed over what a newer client asked
   * for, and has gone by turns: it kept no memo either, as all that know of them do.
   */
  get stepsByNode(): boolean {
    return this.open?.keepsMemo === true && (this.input.steps ?? this.open.steps) === "nodes";
  }

  /** Nothing else bounds the one visit of a bundle run soon. */
  get noticesRepeats(): boolean {
    return this.open?.noticesRepeats === true && this.open.run.kind === "bundle";
  }

  /** The agent of a node: its own, else the run's (contracts §8). */
  agentOf(nodeId: string): string {
    return findNode(this.opened.graph, nodeId)?.agentId ?? this.opened.run.activeAgentId;
  }

  /**
   * Takes over what the opening has found. A run that has continued as new knows all that already; one that resumes goes on from
   * what its folder says.
   */
  begin(opened: OpenedRun): "continued" | "begun" | "resumed" {
    this.open = opened;
    const { openedFor, resumed, models } = opened;
    if (models !== undefined && this.carried.models === undefined) this.update({ models });
    if (openedFor !== undefined) this.update({ executionId: openedFor });
    if (resumed === undefined) return this.input.carried === undefined ? "begun" : "continued";
    if (this.input.carried !== undefined) this.forget();
    const { visit, turn, usage, phaseChanges, audit, story, turnsBelow } = resumed;
    const { budget = this.carried.budget, raises, answers = [] } = resumed;
    const taken = [...answers, ...(this.carried.taken ?? [])];
    this.update({
      visit,
      turn,
      usage,
      phaseChanges,
      audit,
      budget,
      taken,
      ...defined({ raises, turnsBelow }),
    });
    if (story !== undefined) this.update({ story: { ...story, unmetPreconditions: 0 } });
    return "resumed";
  }

  /** Takes up one more part of the graph. */
  addPart(part: WorkflowGraph): void {
    const { opened } = this;
    this.open = { ...opened, graph: joinedParts(opened.graph, part) };
  }

  /** What the next execution begins with: it waits on where this one waits. */
  get handedOn(): CarriedRun {
    const { question: _, ...carried } = this.carried;
    return { ...carried, ...defined({ question: this.question }) };
  }

  /** What an execution knew that was reset: the run goes on from what is on disk. */
  private forget(): void {
    const { visiting: _, story: _story, turnsBelow: _turns, ...kept } = this.carried;
    const { frontmatter, visit, turn, usage, visitUsage, ended, loop, audit } = FRESH;
    this.carried = { ...kept, frontmatter, visit, turn, usage, visitUsage, ended, loop, audit };
    this.question = undefined;
    this.answer = undefined;
  }

  /** Begins a visit: anew, or once more where an earlier execution of the run was cut short in it, in that `conversation`. */
  beginVisit(conversation: string): void {
    const { visit } = this.carried;
    const isFirst = this.ownTurns === 0;
    const isResumed = visit > 0 && visit === this.opened.resumed?.visit;
    const isForked = isFirst && this.isUnderWay;
    const intent: Intent = isResumed || isForked ? "resume" : isFirst ? "start" : "continue";
    this.update({
      visit: visit + 1,
      turn: 0,
      visitUsage: NO_USAGE,
      visiting: { nodeId: this.nodeId, intent, ...(isResumed ? { resumes: conversation } : {}) },
    });
  }

  endVisit(): void {
    const { visiting: _, ...carried } = this.carried;
    this.carried = carried;
  }

  /** The run below that goes on by itself is waited for, or none any more. */
  noteAwaited(workflowId: string | undefined): void {
    const { awaits: _, ...carried } = this.carried;
    this.carried = { ...carried, ...defined({ awaits: workflowId }) };
  }

  update(change: Partial<CarriedRun>): void {
    this.carried = { ...this.carried, ...change };
  }

  /** Counts what was used, for the run and for the visit. */
  use(used: Partial<Usage>): void {
    const { usage, visitUsage } = this.carried;
    this.update({ usage: addUsage(usage, used), visitUsage: addUsage(visitUsage, used) });
  }

  /** Adds a line to the live view. */
  note(text: string, nodeId = this.nodeId): void {
    const last = this.carried.progress.at(-1)?.seq ?? 0;
    const line: ProgressLine = { seq: last + 1, nodeId: nodeId.slice(0, 200), text: text.slice(0, 300) };
    const lines = [...this.carried.progress, line];
    const progress = carriedLines(lines);
    this.update({ progress });
    this.pace.pass(lines.slice(0, lines.length - progress.length));
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
      ...earlierArtifactsOf(carried.frontmatter),
      ...defined({ question: this.question, failure: this.failure }),
      paused: carried.paused,
      budget: carried.budget,
      usage: carried.usage,
      ...defined({ below: this.below, parentRunId: this.input.parent?.runId }),
      ...this.modelState(),
      visit: carried.visit,
      turn: carried.turn,
      ...defined({ lastAnswer: this.lastAnswer }),
      progress: [...this.pace.passedLines, ...carried.progress],
      audit: carried.audit,
    };
  }

  /** The newest answer that was taken; nobody asks for one in the first words. */
  get lastAnswer(): LastUserAnswer | undefined {
    const taken = this.carried.taken?.findLast(
      ({ answer, id }) => answer !== undefined && id !== FIRST_WORDS_ID,
    );
    const { nodeId, begins, by } = taken?.answer ?? {};
    return nodeId === undefined || nodeId === "" ? undefined : { nodeId, ...defined({ begins, by }) };
  }

  private modelState(): Pick<RunState, "model"> {
    const { models, answeredBy, visiting } = this.carried;
    if (models === undefined || this.open === undefined) return {};
    const chain = this.modelsAt(visiting?.nodeId ?? this.nodeId);
    const missing = visiting?.missing?.why;
    return { model: { chain, ...defined({ answeredBy, missing }) } };
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

  /** What is over waits for nothing. */
  fail(fault: Fault): void {
    this.failure = fault;
    this.question = undefined;
    this.below = undefined;
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
