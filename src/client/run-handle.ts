import { randomUUID } from "node:crypto";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { closedAs, closedFault } from "./runs/closed-run.js";
import { type Waiting, untilSignal } from "./temporal/abortable.js";
import { onceBack } from "./temporal/away.js";
import { isUnavailable } from "./temporal/grpc-status.js";
import { ANSWER_FIELDS, type RunAnswer } from "./changes/asked-changes.js";
import { updateIdOf, whyNotTaken } from "./changes/answer-id.js";
import { EVENT_FIELDS, type EventChoice, runEvents } from "./stores/run-events.js";
import { newestAuditHead } from "./runs/audit-head.js";
import { historiesOf } from "./runs/run-histories.js";
import { isOpenStatus, isOver } from "./runs/execution-status.js";
import {
  InterlockError,
  fieldsIn,
  idIn,
  isNotFound,
  knownFieldsIn,
  toInterlockError,
} from "./temporal/interlock-error.js";
import { type RunQuestion, nextQuestion } from "./runs/next-question.js";
import type { PendingWork } from "./runs/pending-work.js";
import { readPendingWork } from "./runs/read-pending-work.js";
import { withResults } from "./temporal/payloads.js";
import { type RunTimes, runTimes } from "./runs/run-times.js";
import { type RunAddress, addressOf, workflowIdOfExecution } from "./runs/run-address.js";
import { type RunRequest, type TemporalAccess, startedWith } from "./runs/run-start.js";
import {
  ANSWER_UPDATE,
  BUDGET_UPDATE,
  FINISH_UPDATE,
  GRAPH_STATE_QUERY,
  PAUSE_UPDATE,
  RESUME_UPDATE,
  RUN_STATE_QUERY,
} from "../contract/names.js";
import { sendUpdate } from "./changes/send-update.js";
import { tellBelow } from "./tell-below.js";
import { parseAnswerTaken, parseBudget, parseRunResult, parseRunState } from "../contract/run-answers.js";
import type { BudgetRaise } from "../contract/run.js";
import type { RunResult } from "../core/run/run-result.js";
import type { AuditHead } from "../core/run/audit-head.js";
import type { Budget } from "../core/run/budget.js";
import type { RunEvent } from "../core/run/run-event.js";
import type { RunBelowState, RunState } from "../core/run/run-state.js";
import { ReadRefused, type StoreReader, type StoredArtifact } from "../contract/reads.js";
import { remotePages } from "./stores/remote-pages.js";
import { storeReader, wholeFile } from "./stores/store-reader.js";
import {
  TRANSCRIPT_FIELDS,
  type TranscriptChoice,
  type TranscriptVisit,
  readTranscript,
  valueOf,
} from "./stores/transcript.js";
import { isRunId, runIdIn, workflowIdOf } from "../core/run/run-id.js";
import { defined } from "../core/defined.js";
import type { Fault } from "../core/errors.js";
import type { GraphState } from "../core/graph-state/schemas.js";
import { isOverPhase } from "../core/run/phase.js";

/** What a handle is made of, where more is known than one id. */
export interface RunReference {
  readonly runId: string;
  readonly workflowId: string;
  readonly firstExecutionRunId?: string;
}

/** One run. */
export class RunHandle {
  /** The run's id. Of a handle made with a workflow id that does not say it, that workflow id: see {@link identify}. */
  readonly runId: string;
  /** Temporal's id of the run's first execution, where this handle started it. */
  readonly firstExecutionRunId: string | undefined;
  private readonly access: TemporalAccess;
  /** The questions that were given. */
  private readonly given = new Set<string>();
  /** What the run's workflow may be called, the likeliest first. */
  private workflowIds: readonly string[];

  /** `id` is a run's or its workflow's. */
  constructor(access: TemporalAccess, id: string | RunReference) {
    this.access = access;
    if (typeof id === "string") {
      this.runId = runIdIn(id) ?? id;
      this.firstExecutionRunId = undefined;
      // A child workflow that was given no id has a UUID for one.
      this.workflowIds = isRunId(id) ? [workflowIdOf(id), id] : [id];
    } else {
      this.runId = id.runId;
      this.firstExecutionRunId = id.firstExecutionRunId;
      this.workflowIds = [id.workflowId];
    }
  }

  /** The workflow's id, as far as this handle knows it. */
  get workflowId(): string {
    return this.workflowIds[0] ?? this.runId;
  }

  /** The run's id and its workflow's, as Temporal knows them. Throws `E_RUN_NOT_FOUND`. */
  async identify(): Promise<{ readonly runId: string; readonly workflowId: string }> {
    const { input, workflowId = workflowIdOf(input.runId) } = await this.startedWith();
    return { runId: input.runId, workflowId };
  }

  /**
   * Where the run stands. One that Temporal has closed by itself (terminated, timed out) is failed, with the reason. Needs a
   * worker on the run's queue. Throws `E_RUN_NOT_FOUND`.
   */
  async state(): Promise<RunState> {
    const query = async () => {
      const answer: unknown = await this.guarded(async () => (await this.workflow()).query(RUN_STATE_QUERY));
      const state = valueOf(parseRunState(answer));
      return isOverPhase(state.phase) ? { ...state, paused: false } : state; // what is over does not go on by itself
    };
    const state = await query();
    if (isOverPhase(state.phase) || isOpenStatus(await this.executionStatus())) return state;
    const last = await query(); // it may have ended by itself meanwhile
    if (isOverPhase(last.phase)) return last;
    const failure = await this.closedBy();
    if (failure === undefined) return last;
    const { question: _, ...rest } = last;
    return { ...rest, phase: "failed", paused: false, failure };
  }

  /** Why the run ended without being completed; undefined while it is open, and for a completed one. Needs no worker. */
  async closedBy(): Promise<Fault | undefined> {
    const closed = await closedAs(this);
    return closed && closedFault(closed);
  }

  /** The typed graph state of a run that carries a story; null for one that carries none. */
  async graphState(): Promise<GraphState | null> {
    return this.guarded(async () => (await this.workflow()).query<GraphState | null>(GRAPH_STATE_QUERY));
  }

  /**
   * Answers the question the run waits with. `answerId` makes it idempotent: the same id again is the same answer, so each
   * question of a run needs one of its own, such as `${state.visit}.${state.turn}`. With `question`, the id of a question, no
   * other question takes it. `by` is who answers, one line of at most 200 characters: it is kept, and nobody checks it. Throws
   * `E_PRECONDITION_FAILED` when the run does not wait at that node or with that question, and for an id that another answer has
   * had, or the same one of somebody else. A text of more than 200 characters to a question is kept under its id with a hash of the text behind it,
   * where the id has at most 83: of two such texts that begin alike under a longer one the second is not told from the first.
   */
  async answer(answer: RunAnswer): Promise<void> {
    const { nodeId, text, question, by, answerId } = knownFieldsIn("an answer", answer, ANSWER_FIELDS);
    idIn("answerId", answerId);
    const told = { nodeId, text, ...defined({ question, by }) };
    const taken = valueOf(
      parseAnswerTaken(await this.update(ANSWER_UPDATE, told, updateIdOf(answerId, told))),
    );
    const message = whyNotTaken(told, taken, answerId);
    if (message !== undefined) throw new InterlockError({ code: "E_PRECONDITION_FAILED", message });
  }

  /**
   * Waits for the next question that this handle has not given yet, and returns it with its `id`; undefined when the run is over. One
   * with the code `BUDGET_EXCEEDED` takes `raiseBudget`, no answer. What a run below asks is that one's question: `InterlockClient.openQuestions`
   * has it. Rejects with the signal's reason. Throws `E_RUN_NOT_FOUND`.
   */
  async nextQuestion(waiting: Waiting = {}): Promise<RunQuestion | undefined> {
    return this.until(waiting, (signal) => nextQuestion(this, this.given, signal));
  }

  /**
   * Lets the run stop before its next model turn, until `resume`, and the runs below it that it waits for. Returns those, the nearest
   * first. Throws `E_PRECONDITION_FAILED` when it is over, and where it is paused and one below it does not answer.
   */
  async pause(): Promise<readonly RunBelowState[]> {
    return this.tell(PAUSE_UPDATE);
  }

  /** Lets a paused run go on, and the runs below it that are paused. Returns those. Throws as `pause`. */
  async resume(): Promise<readonly RunBelowState[]> {
    return this.tell(RESUME_UPDATE);
  }

  /** The run of a subworkflow that the run waits for, as its state says. */
  below({ below }: Pick<RunState, "below">): RunHandle | undefined {
    return below && new RunHandle(this.access, below.runId);
  }

  private async tell(update: typeof PAUSE_UPDATE | typeof RESUME_UPDATE): Promise<readonly RunBelowState[]> {
    await this.update(update);
    return tellBelow<RunHandle>(this, update, (run) => run.update(update));
  }

  /**
   * Adds to the limits of the budget: those the run waits at, unless `scope` says which. Returns the budget afterwards.
   * `raiseId` makes it idempotent: the same id again is the same raise. Throws `E_PRECONDITION_FAILED` for a limit that the
   * run does not have.
   */
  async raiseBudget(raise: BudgetRaise & { readonly raiseId?: string }): Promise<Budget> {
    const { raiseId, ...amounts } = fieldsIn("what a budget is raised by", raise);
    return valueOf(parseBudget(await this.update(BUDGET_UPDATE, amounts, idIn("raiseId", raiseId))));
  }

  /** Ends a bundle run as completed. Throws `E_PRECONDITION_FAILED` for a graph run. */
  async finish(): Promise<void> {
    await this.update(FINISH_UPDATE);
  }

  /**
   * Asks the run to stop; a running model call hears of it within its heartbeat. It fails with `ENGINE_ABORTED`. Throws
   * `E_PRECONDITION_FAILED` when it is over.
   */
  async cancel(): Promise<void> {
    await this.requireOpen(); // Temporal takes the cancellation of an execution that is closed, and does nothing
    await this.guarded(async () => {
      const { workflowId, executionRunId, ...chain } = await addressOf(this.access, this);
      await this.access.temporal.workflow.getHandle(workflowId, executionRunId, chain).cancel();
    });
  }

  /** As `executionStatus`. Throws `E_PRECONDITION_FAILED` when the run is over, `E_RUN_NOT_FOUND`. Needs no worker. */
  async requireOpen(): Promise<string> {
    const status = await this.executionStatus();
    if (!isOpenStatus(status)) throw isOver(status);
    return status;
  }

  /** Temporal's status of the newest execution, such as `RUNNING`. Throws `E_RUN_NOT_FOUND`. */
  async executionStatus(): Promise<string> {
    return this.guarded(async () => (await this.describe()).status.name);
  }

  /**
   * What the run waits for: its activities that are not done, with their attempts, the failure before, and when the next try is; and
   * why its workflow task fails, where it does. Needs no worker. Throws `E_RUN_NOT_FOUND`.
   */
  async pendingWork(waiting: Waiting = {}): Promise<PendingWork> {
    const ask = async () => readPendingWork(this.access, (await this.describe()).raw);
    return this.guarded(() => this.until(waiting, ask));
  }

  /** The queue that it is on: that of its store. Throws `E_RUN_NOT_FOUND`. Needs no worker. */
  async taskQueue(): Promise<string> {
    return this.guarded(async () => (await this.describe()).taskQueue);
  }

  /** Who began the run, and when it began, came into its phase and ended. Throws `E_RUN_NOT_FOUND`. */
  async times(): Promise<RunTimes> {
    return this.guarded(async () => runTimes(this.access, await addressOf(this.access, this)));
  }

  /** What the run was started with. Throws `E_RUN_NOT_FOUND`. */
  async startedWith(): Promise<RunRequest> {
    return this.guarded(async () => startedWith(this.access, await addressOf(this.access, this)));
  }

  /** Whether the newest execution has come past its beginning, so that the store holds the run. */
  async wasOpened(): Promise<boolean> {
    const { events } = await this.history();
    const continued = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? "";
    if (continued !== "") return true;
    return events?.some(({ activityTaskCompletedEventAttributes: done }) => Boolean(done)) ?? false;
  }

  /** The newest execution's history, as Temporal exports it. */
  async history(): Promise<History> {
    return this.guarded(async () => (await this.workflow()).fetchHistory());
  }

  /**
   * The histories of all executions that Temporal still has, oldest first: a run has a further one for each retry and each
   * continue-as-new. Throws `E_RUN_NOT_FOUND`.
   */
  async histories(): Promise<readonly History[]> {
    return this.guarded(async () => {
      const runId = await this.knownAs();
      const { runId: newest } = await this.describe();
      return historiesOf(this.access.temporal, { runId, workflowId: this.workflowId, newest });
    });
  }

  /**
   * Waits for the run's end, or until the signal ends the waiting; Temporal that is away meanwhile is waited for. Throws an `InterlockError`
   * with the failure's code when the run fails.
   */
  async result(waiting: Waiting = {}): Promise<RunResult> {
    return onceBack(waiting.signal, () => this.resultUnlessAway(waiting), isUnavailable);
  }

  /** As `result`, but rejects when Temporal is away: for who knows that it does not come back. */
  async resultUnlessAway(waiting: Waiting = {}): Promise<RunResult> {
    const wait = async (): Promise<unknown> => (await this.workflow()).result();
    return valueOf(parseRunResult(await this.guarded(() => this.until(waiting, wait))));
  }

  /**
   * The newest head of the audit log's chain that Temporal's history holds: what the log on disk is checked against.
   * Needs no worker. Undefined before the first event. Throws `E_PRECONDITION_FAILED` where it is sealed and no key here opens it.
   */
  async auditHead(): Promise<AuditHead | undefined> {
    const { temporal } = this.access;
    const history = await this.history();
    return newestAuditHead(await withResults(temporal, history, this.workflowId));
  }

  /** Reads the run's store, wherever it is. Needs a worker of the run's queue that answers. Throws `E_RUN_NOT_FOUND`. */
  async reader(): Promise<StoreReader> {
    const { temporal, namespace, sign } = this.access;
    return storeReader(remotePages({ temporal, namespace, sign, taskQueue: await this.taskQueue() }));
  }

  /**
   * What was said, visit by visit: of one node, where it is named, and without what models have thought, unless it is asked for.
   * Throws `E_RUN_NOT_FOUND`, `E_PRECONDITION_FAILED` where nobody who has the run's store answers.
   */
  async transcript(choice: TranscriptChoice = {}): Promise<readonly TranscriptVisit[]> {
    knownFieldsIn("what of a conversation is wanted", choice, TRANSCRIPT_FIELDS);
    return readTranscript(await this.reader(), await this.knownAs(), choice);
  }

  /** What the run has recorded as its results. Throws as {@link transcript}. */
  async artifacts(): Promise<readonly StoredArtifact[]> {
    const reader = await this.reader();
    const { artifacts } = valueOf(await reader.ask("read.artifacts", { run: await this.knownAs() }));
    return artifacts;
  }

  /** The bytes of one artifact, by its path. Throws as {@link transcript}, and `ENOENT`, `E_SANDBOX_VIOLATION`. */
  async artifact(path: string): Promise<Uint8Array> {
    const reader = await this.reader();
    const asked = { run: await this.knownAs(), path };
    return wholeFile(reader.bytes("read.artifact", asked)).catch((error: unknown) => {
      throw error instanceof ReadRefused ? new InterlockError(error.fault, error) : error;
    });
  }

  /**
   * What happens in the run, each event once: from its beginning, or from event `from` on (its `seq`), until the run is over, or
   * until the signal, which throws its reason. Throws as {@link transcript}; a worker that is gone later is waited for, and Temporal too.
   */
  async *events(choice: EventChoice = {}): AsyncGenerator<RunEvent, void> {
    const { signal } = knownFieldsIn("which events are wanted", choice, EVENT_FIELDS);
    const find = async () => ({ ids: await this.identify(), reader: await this.reader() });
    const { ids, reader } = await this.until(defined({ signal }), find);
    const run = new RunHandle(this.access, ids);
    yield* runEvents(this.access, { runId: ids.runId, address: () => run.address(), reader }, choice);
  }

  /** What the store knows the run by. */
  private async knownAs(): Promise<string> {
    return isRunId(this.runId) ? this.runId : (await this.identify()).runId;
  }

  /** Temporal's id of the current execution, for links into its Web UI. */
  async executionRunId(): Promise<string> {
    return this.guarded(async () => (await this.describe()).runId);
  }

  private update(name: string, argument?: object, updateId: string = randomUUID()): Promise<unknown> {
    const { access } = this;
    return this.guarded(() => {
      const run = { address: () => addressOf(access, this), state: () => this.state() };
      return sendUpdate(access, run, { name, argument, updateId });
    });
  }

  /** Where Temporal has the run. Throws `E_RUN_NOT_FOUND`, also for a workflow that is no run. */
  address(): Promise<RunAddress> {
    return this.guarded(() => addressOf(this.access, this));
  }

  private until<T>(waiting: Waiting, ask: (signal?: AbortSignal) => Promise<T>): Promise<T> {
    return untilSignal(this.access.temporal, waiting, ask);
  }

  private async workflow() {
    const { workflowId, executionRunId } = await addressOf(this.access, this);
    return this.access.temporal.workflow.getHandle(workflowId, executionRunId);
  }

  private async describe() {
    return (await this.workflow()).describe();
  }

  private async guarded<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (!isNotFound(error) || !(await this.lookFurther())) throw toInterlockError(error, this.runId);
    }
    return this.guarded(action);
  }

  /**
   * What is not known as `run-<runId>` may have another workflow id: then the run's id is that of the workflow's first execution,
   * which Temporal can be asked for. False where nothing is left to look for.
   */
  private async lookFurther(): Promise<boolean> {
    const [, ...others] = this.workflowIds;
    if (others.length === 0) return false;
    const found = await workflowIdOfExecution(this.access, this.runId).catch(() => undefined);
    this.workflowIds = found === undefined ? others : [found];
    return true;
  }
}
