import type { ModelTurnInput, PlannedCall, ToolCallInput, ToolCallOutcome } from "../contract/activities.js";
import type { OpenedRun } from "../core/run/opened-run.js";
import type { RunExecution } from "../core/run/run-execution.js";
import type { EngineLimits } from "../core/run/limits.js";
import type { RunRecord } from "../core/engine/run-record.js";

/** What graph runs and bundle runs do differently. Turns, conversation, waiting, limits, audit and operation are one. */
export interface RunKind {
  /** The first activity: makes the run on disk, or finds it. `isLeft`: a worker has left it to others. */
  open(record: RunRecord, execution: RunExecution, isLeft: boolean): Promise<OpenedRun>;
  /** What a run that begins or resumes knows beside its opening. */
  begin(record: RunRecord): Promise<void>;
  /** The user may end the run as completed. */
  readonly userMayFinish: boolean;
  /** The limits where the run's input names none. */
  readonly limits: EngineLimits;
  /** Does the visit at hand without a model; false where it needs one. */
  visitAlone?(record: RunRecord): Promise<boolean>;
  /** The conversation of the current visit. */
  conversation(record: RunRecord): string;
  /** What a turn's activity is told beside the turn itself. */
  turnDetails(record: RunRecord): Partial<ModelTurnInput>;
  /** Runs one call that is neither wrong nor too late. `done`: it was run along with the answer, and has come to that. */
  runCall(
    record: RunRecord,
    call: PlannedCall,
    input: ToolCallInput,
    done?: ToolCallOutcome,
  ): Promise<ToolCallOutcome>;
  /** Ends a visit: what is kept of it. */
  endVisit(record: RunRecord, nodeId: string): Promise<void> | void;
  /** What a call that has run changes in the record. */
  afterCall(
    record: RunRecord,
    nodeId: string,
    call: PlannedCall,
    outcome: ToolCallOutcome,
  ): Promise<void> | void;
}
