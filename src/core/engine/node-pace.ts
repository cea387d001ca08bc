import { QUICK_TURNS_IN_A_ROW, QUICK_TURN_MS } from "../step-size.js";
import { GROWING_LISTS, surplusOf } from "../state/earlier-entries.js";
import type { CarriedRun } from "../run/carried-run.js";
import type { KeptBoundary } from "../run/kept-boundary.js";
import type { OpenedRun } from "../run/opened-run.js";
import { passedLines } from "./progress-lines.js";
import type { ProgressLine } from "../run/run-state.js";
import { TaskLoad } from "./task-load.js";

const TOLD_EVERY_MS = 5_000;

/** What the pace of a run goes by. */
export interface PacedRun {
  readonly open: OpenedRun | undefined;
  readonly carried: CarriedRun;
  readonly nodeId: string;
  readonly stepsByNode: boolean;
  update(change: Pick<CarriedRun, "isSlow">): void;
}

/**
 * How a run whose steps are nodes (contracts §9) goes on: what of it is done inside a workflow task, and how often others hear of it. Nothing
 * of it but `isSlow` is carried over. A run whose steps are turns waits for each step and tells each place.
 */
export class NodePace {
  private readonly run: PacedRun;
  readonly taskLoad = new TaskLoad();
  /** Lines of the live view before those that are carried: a run that passes node after node says hundreds between two looks at it. */
  passedLines: readonly ProgressLine[] = [];
  /** The boundary that the last turn has kept, where it was asked to. */
  kept: KeptBoundary | undefined;
  /** The node at which lists and searches say that the run stands, since `at`. */
  private told: { readonly nodeId: string; readonly at: number; readonly workedMs: number } | undefined;
  /** How long the turns of this execution took together, as their results say. */
  private workedMs = 0;
  /** What turns took decides, and no clock. */
  private timesTurns = false;

  constructor(run: PacedRun) {
    this.run = run;
  }

  /** The turn at hand is expected to take a moment only. */
  get isQuickTurn(): boolean {
    const { isLeft, isSlow, turn } = this.run.carried;
    if (!this.run.stepsByNode || isLeft === true || isSlow === true || turn % QUICK_TURNS_IN_A_ROW === 0) {
      return false;
    }
    return this.run.open?.keepsQuickly !== true || !this.taskLoad.isFull; // earlier versions did not ask
  }

  /**
   * As a visit begins: lists and searches are told of it. By nodes a run may pass ten of them in a second, and each is a change of its
   * listing: then they hear of one every few seconds of its turns.
   */
  isPlaceDue(now: number): boolean {
    const { told } = this;
    if (!this.tellsSeldom || this.run.carried.isSlow === true || told === undefined) return true;
    const passedMs = this.goesByClock ? now - told.at : this.workedMs - told.workedMs;
    return passedMs >= TOLD_EVERY_MS;
  }

  /** The run stays where it is for longer than a moment, and lists and searches say that it stands elsewhere. */
  get isPlaceOld(): boolean {
    return this.tellsSeldom && this.told?.nodeId !== this.run.nodeId;
  }

  noteTold(now: number): void {
    this.told = { nodeId: this.run.nodeId, at: now, workedMs: this.workedMs };
  }

  /** The boundary at hand is kept in the task at hand: turns are quick, the task is not long yet, and nothing of the document is moved. */
  get isQuickBoundary(): boolean {
    const { isLeft, isSlow, frontmatter } = this.run.carried;
    if (this.run.open?.keepsQuickly !== true || isLeft === true || isSlow === true) return false;
    const isMoved = GROWING_LISTS.some((list) => surplusOf(frontmatter[list]).length > 0);
    return this.taskLoad.isLight && !isMoved;
  }

  /** A task of the workflow may be done again: the document is read where the history keeps what was read. */
  get recordsReads(): boolean {
    return this.run.stepsByNode && this.run.open?.recordsReads === true;
  }

  private get tellsSeldom(): boolean {
    return this.run.stepsByNode && this.run.open?.tellsSeldom === true;
  }

  /** A worker of an earlier version has opened the run by nodes, and none of this one has gone on with it. */
  get goesByClock(): boolean {
    return this.run.stepsByNode && this.run.open?.timesTurns !== true && !this.timesTurns;
  }

  leaveClock(): void {
    this.timesTurns = true;
  }

  /**
   * How long the turn that was asked for last took: what the next one is expected to take. Its result says so, which the history keeps. The
   * workflow's clock, `passedMs`, may stand elsewhere when a task is done than when it is replayed: after a query that was answered by replaying the
   * run it has stood still. It decides only what workers of an earlier version have decided.
   */
  timeTurn(tookMs: number | undefined, passedMs = 0): void {
    if (!this.run.stepsByNode) return;
    const countedMs = this.goesByClock ? passedMs : tookMs;
    this.run.update({ isSlow: countedMs === undefined || countedMs > QUICK_TURN_MS });
    this.workedMs += tookMs ?? 0;
  }

  /** A quick turn that leads the run on keeps the boundary as well: of a run that carries no story, all of it is on disk then. */
  get keepsInTurn(): boolean {
    return this.run.open?.keepsQuickly === true && this.run.carried.story === undefined;
  }

  /** Remembers lines of the live view that are carried no more. */
  pass(lines: readonly ProgressLine[]): void {
    if (this.run.stepsByNode) this.passedLines = passedLines([...this.passedLines, ...lines]);
  }
}
