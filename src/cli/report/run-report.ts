import type { PendingActivity, TaskFailure } from "../../client/runs/pending-work.js";
import { type StandingBelow, askingBelow } from "../../client/standing-below.js";
import { defined } from "../../core/defined.js";
import type { ClosedRun } from "../../client/runs/closed-run.js";
import type { Budget } from "../../core/run/budget.js";
import { type RunPhase, isOverPhase } from "../../core/run/phase.js";
import type { LastUserAnswer, ModelState, RunBelowState, RunState } from "../../core/run/run-state.js";
import { NO_USAGE, type Usage } from "../../core/run/usage.js";
import type { JsonObject } from "../../core/json.js";
import type { RunFacts, StoreReader } from "../../contract/reads.js";
import type { RunStatus } from "../../store/runs/status-file.js";
import { workflowIdOfRun } from "../../store/runs/run-metadata.js";

/** What `run --json` and `status --json` print. */
export interface RunReport {
  readonly runId: string;
  readonly workflowId: string;
  /** Empty where the run is not open yet. */
  readonly packageId: string;
  readonly workflowRef: string;
  readonly projectId: string;
  /** Who began it; absent where Temporal was not asked. */
  readonly startedBy?: string;
  /** When it began, came into its phase and ended: UTC, ISO. */
  readonly startedAt?: string;
  readonly since?: string;
  readonly endedAt?: string;
  readonly phase: RunPhase;
  readonly currentNodeId: string;
  readonly stepsCompleted: readonly string[];
  readonly variables: JsonObject;
  readonly artifacts: readonly string[];
  /** Artifacts of earlier runs that this one has written as well; absent where its files were not asked. */
  readonly writtenAgain?: readonly string[];
  readonly question?: { readonly nodeId: string; readonly text: string; readonly code?: string | undefined };
  readonly failure?: { readonly code: string; readonly message: string };
  /** What was answered last, and by whom. */
  readonly lastAnswer?: LastUserAnswer;
  /** What of the run's files is missing or broken, so that the report lacks what they say. */
  readonly problem?: string;
  /** What the run waits for, as Temporal says; absent where it was not asked, or nothing is under way. */
  readonly work?: readonly PendingActivity[];
  /** Why the run stands still: its workflow task fails in whichever worker takes it. */
  readonly taskFailure?: TaskFailure;
  /** Somebody has paused the run: it goes on after `interlock resume`. */
  readonly paused: boolean;
  /** Of a run that has one. */
  readonly budget?: Budget;
  readonly usage: Usage;
  /** Of each node, as the audit log says; absent where it is not at hand. */
  readonly usageByNode?: RunFacts["usageByNode"] & {};
  /** The run of a subworkflow that it waits for, as the run itself says. */
  readonly below?: RunBelowState & { readonly asks?: AskedBelow };
  /** Of a subworkflow's run: the run that has started it. */
  readonly parentRunId?: string;
  /** Which visit of a node this is, and which model turn in it; absent where only the files were asked. */
  readonly visit?: number;
  readonly turn?: number;
  /** Of a run that knows its models. */
  readonly model?: ModelState;
  /** False: nobody polls the run's queue, so that it stands still; with since when, ISO, where that is known. */
  readonly polled?: false;
  readonly notPolledSince?: string;
  readonly webUrl: string | null;
  /** Null for a bundle run: it has no state document. */
  readonly stateFile: string | null;
  readonly logFile: string | null;
  /** Where a bundle run leaves its results: `{session-folder}` in `artifacts`. Null for a graph run. */
  readonly sessionFolder: string | null;
}

/** What a person is asked in a run below, and in which. */
export interface AskedBelow extends RunBelowState {
  readonly nodeId: string;
  readonly text: string;
  readonly code?: string;
}

/** Undefined where no run below waits for a person. */
export function askedBelow(below: readonly StandingBelow<unknown>[]): AskedBelow | undefined {
  const asking = askingBelow(below);
  const question = asking?.state.question;
  if (asking === undefined || question === undefined) return undefined;
  const { nodeId, text, code } = question;
  return { runId: asking.runId, workflowRef: asking.workflowRef, nodeId, text, ...defined({ code }) };
}

/** What a report says that the run itself does not know. */
export type RunPlaces = Pick<
  RunReport,
  "workflowId" | "webUrl" | "stateFile" | "logFile" | "sessionFolder"
> & {
  /** All artifacts that the run's files list: the run itself knows the newest ones. */
  readonly listed?: readonly string[];
};

type RunFilePlaces = Omit<RunPlaces, "workflowId" | "webUrl"> &
  Pick<RunReport, "usageByNode" | "writtenAgain" | "problem">;

export function reportOf(
  state: RunState,
  { listed = state.artifacts, ...places }: RunPlaces,
  asks?: AskedBelow,
): RunReport {
  const below = state.below && { ...state.below, ...defined({ asks }) };
  return {
    runId: state.runId,
    packageId: state.packageId,
    workflowRef: state.workflowRef,
    projectId: state.projectId,
    phase: state.phase,
    currentNodeId: state.currentNodeId,
    stepsCompleted: state.stepsCompleted,
    variables: state.variables,
    artifacts: state.earlierArtifacts === undefined ? state.artifacts : listed,
    ...defined({ question: state.question, failure: state.failure, lastAnswer: state.lastAnswer }),
    paused: state.paused,
    ...(state.budget.run === undefined && state.budget.node === undefined ? {} : { budget: state.budget }),
    usage: state.usage,
    visit: state.visit,
    turn: state.turn,
    ...defined({ model: state.model, below, parentRunId: state.parentRunId }),
    ...places,
  };
}

/** Where a run's files lie, null where nobody can say, and the path of its project there. */
export async function filesOfRun(
  reader: StoreReader,
  runId: string,
): Promise<{ readonly files: RunFilePlaces; readonly projectRoot?: string }> {
  const facts = await reader.ask("read.run", { run: runId });
  if (!facts.ok) return { files: { stateFile: null, logFile: null, sessionFolder: null } };
  const { places, usageByNode, writtenAgain, standing, projectRoot } = facts.value;
  const { artifacts: listed, problem } = standing;
  const files = { ...places, ...defined({ usageByNode, writtenAgain, problem }), listed };
  return { files, ...defined({ projectRoot: projectRoot ?? undefined }) };
}

/** A run as its files tell it, without Temporal. */
export function reportFromStore(facts: RunFacts): RunReport {
  const { metadata, status: written, standing, places, model, usage, usageByNode, writtenAgain } = facts;
  const status = written as RunStatus | null; // the store has parsed it
  const { phase, packageId, workflowRef, projectId, createdAt: startedAt, lastUpdatedAt: since } = metadata;
  const isOver = isOverPhase(phase);
  return {
    runId: metadata.runId,
    workflowId: workflowIdOfRun(metadata),
    packageId,
    workflowRef,
    projectId,
    startedAt,
    since,
    ...(isOver ? { endedAt: since } : {}),
    phase,
    ...standing,
    ...(status?.question === undefined || phase !== "waiting-user" ? {} : { question: status.question }),
    ...(status?.fault === undefined || phase !== "failed" ? {} : { failure: status.fault }),
    ...(status?.lastAnswer === undefined ? {} : { lastAnswer: status.lastAnswer as LastUserAnswer }), // written from one
    paused: status?.paused === true && !isOver,
    ...(status?.budget === undefined ? {} : { budget: status.budget as Budget }), // written from one
    usage: (isOver ? (status?.usage ?? usage) : (usage ?? status?.usage)) ?? NO_USAGE, // what it ended with is its own word
    ...defined({ model, usageByNode, writtenAgain, parentRunId: metadata.parentRunId }),
    webUrl: null,
    ...places,
  };
}

/** Whether the files of a run tell of the failure that Temporal has closed it with. */
export function tellsOf({ phase, failure: told }: RunReport, { status, said }: ClosedRun): boolean {
  if (phase !== "failed" || told?.code !== said.code) return false;
  // A cancellation has words of Temporal's own there.
  return status === "CANCELLED" || said.message.endsWith(told.message);
}
