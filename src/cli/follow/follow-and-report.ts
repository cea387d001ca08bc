import type { InterlockClient, RunHandle } from "../../client/client.js";
import { isUnanswered } from "../../client/temporal/grpc-status.js";
import type { RunWorkflow } from "../../contract/names.js";
import { shellName } from "../../core/text.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import { NO_ANSWERS, userAnswers } from "../terminal/answers.js";
import { type FollowEnd, followRun } from "./follow.js";
import { liveAnswers } from "./live-answers.js";
import { CommandError, EXIT, type ExitCode, print, printJson, printNote } from "../terminal/output.js";
import { notesAreRedrawn } from "../terminal/redraw.js";
import { printReport } from "../report/print-report.js";
import { filesOfRun, reportOf } from "../report/run-report.js";
import type { RunSession } from "../session/run-session.js";
import { liveView, plainView } from "./run-views.js";
import type { TemporalSession } from "../session/temporal-session.js";
import { webLinkOf } from "../session/web-link.js";
import { wordsOf } from "../../core/system-code.js";
import { noWorkerHint } from "../session/standstill-words.js";

/** What following a run shows of it. A bundle run has no graph. */
export interface FollowedRun {
  readonly graph: WorkflowGraph | undefined;
  readonly projectRoot: string;
}

/** Everything about a run that can be checked before anything is started. */
export interface PreparedRun extends FollowedRun {
  /** Package or workflow, for people. */
  readonly name: string;
  readonly workflow: RunWorkflow;
  /** What the run is started with. */
  readonly input: object;
  start(client: InterlockClient): Promise<RunHandle>;
}

/** Another worker has the run already; this one has the models of this shell, and stays when the other ends. The run does not need it. */
export async function bringAnotherWorker(session: TemporalSession, signal: AbortSignal): Promise<void> {
  try {
    await session.startWorker();
  } catch (error) {
    if (signal.aborted) return; // following says what is left
    const reason = wordsOf(error);
    printNote(`This command has no worker of its own (${reason}). The run is with the one that was there.`);
  }
}

/** Whether a command follows the run that it has begun, and how. */
export interface FollowOptions {
  /** It only says what it has begun. */
  readonly detach?: boolean;
  readonly json?: boolean;
  /** False: a question ends the command with exit code 3. */
  readonly waitForAnswers: boolean;
}

export interface FollowChoice {
  readonly json: boolean;
  /** False: a question ends the command with exit code 3. */
  readonly waitForAnswers: boolean;
  /** What a program is told beside the report. */
  readonly more?: object;
  /** The last line of progress that has been seen before. */
  readonly since?: number;
  /** Another worker has the run, as that of `interlock dev`: it goes on without this command. */
  readonly isShared?: boolean;
}

/** Follows a run with a view that fits the terminal, and reports its end. */
export async function followAndReport(
  {
    session,
    store,
    reader,
    run,
    signal,
  }: Pick<RunSession, "session" | "store" | "reader" | "run" | "signal">,
  followed: FollowedRun,
  choice: FollowChoice,
): Promise<ExitCode> {
  const link = await webLinkOf(session, run, { after: false });
  printNote(link.url === null ? `Web UI: ${link.how}.` : `Watch it: ${link.url}`);
  const answers = choice.waitForAnswers ? userAnswers() : NO_ANSWERS;
  session.followed();
  const isLive = notesAreRedrawn() && !choice.json;
  const view = isLive ? liveView(followed.graph, answers) : plainView(answers);
  let end: FollowEnd;
  try {
    end = await followRun(run, view, signal, {
      since: choice.since,
      embedded: session.embedded,
      source: {
        live: liveAnswers({ store, reader }, run.runId),
        nobody: () => nobodyWorks(session),
      },
    });
  } catch (error) {
    if (signal.aborted) {
      printNote("");
      for (const line of stoppedWatching(run.runId, session.embedded, choice.isShared)) printNote(line);
      throw new CommandError(`Run ${run.runId} is not finished.`, { cause: error });
    }
    throw unfollowed(error, run.runId, session.embedded);
  }
  const { url: webUrl, how } = await webLinkOf(session, run, { after: true });
  const { workflowId } = run;
  const places = { workflowId, webUrl, ...(await filesOfRun(reader, run.runId)).files };
  const report = reportOf(end.state, places, end.asks);
  if (choice.json) printJson({ ...report, ...choice.more });
  else printReport(report, followed.projectRoot, how);
  if (end.waiting) return EXIT.waiting;
  return end.state.phase === "completed" ? EXIT.done : EXIT.failed;
}

/** How somebody who has stopped watching comes back to a run: lines. `isShared`: another worker has it beside that of the command. */
export function stoppedWatching(runId: string, embedded: boolean, isShared = false): readonly string[] {
  const seeAgain = `See it again with: interlock watch ${shellName(runId)}`;
  if (!embedded) return [`Stopped watching. The run goes on where its workers are. ${seeAgain}`];
  return [
    isShared
      ? `Stopped watching. The run goes on with the worker that is there. ${seeAgain}`
      : "Stopped watching. The run is kept and goes on when a worker is there: interlock dev",
    `A call that is under way${isShared ? " here" : ""} has ten seconds to end. Another Ctrl-C does not wait for it.`,
  ];
}

/** A worker of another machine counts for a minute after its end: that one polls says little where nobody takes what is due. */
export async function nobodyWorks(session: TemporalSession): Promise<string> {
  const { client } = session;
  if (!(await session.hasWorker())) return noWorkerHint(session, client.taskQueue);
  return `No worker of the task queue "${client.taskQueue}" takes the run's next step: it is busy, or gone. Waiting for one.`;
}

/** Why a run could not be followed any more, in words where it is Temporal that is gone. */
export function unfollowed(error: unknown, runId: string, embedded: boolean): unknown {
  if (!isUnanswered(error)) return error;
  const back = embedded ? "Bring both back with: interlock dev" : "";
  const sentence = `Temporal does not answer any more. Run ${runId} is kept, and goes on when Temporal and a worker are back. ${back}`;
  return new CommandError(sentence.trimEnd(), { cause: error });
}

/** Says what was started, for a command that does not follow it. */
export async function reportDetached(
  session: TemporalSession,
  run: RunHandle,
  choice: { readonly json: boolean; readonly more?: object },
): Promise<void> {
  const { url: webUrl, how } = await webLinkOf(session, run, { after: true });
  const told = { runId: run.runId, workflowId: run.workflowId, phase: "running", webUrl };
  if (choice.json) printJson({ ...told, ...choice.more });
  else print(`Run ${run.runId} is started.${webUrl === null ? ` Web UI: ${how}.` : ` Watch it: ${webUrl}`}`);
}

/** What following a run shows of it: its graph and its project. */
export async function followedRun({ reader, run }: Pick<RunSession, "reader" | "run">): Promise<FollowedRun> {
  const { kind, input } = await run.startedWith();
  const { projectRoot } = input;
  if (kind === "bundle") return { graph: undefined, projectRoot };
  const known = await reader.ask("read.graph", { run: run.runId });
  const graph = known.ok ? (known.value.graph as unknown as WorkflowGraph | null) : null; // of an installed package
  return { graph: graph ?? undefined, projectRoot };
}
