import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  noWorkerHint,
  print,
  printJson,
  printNote,
} from "./output.js";
import { followedRun } from "./go-on.js";
import { wayOn } from "./run-report.js";
import { unlessInterrupted, withRun } from "./run-session.js";
import { followAndReport } from "./start-run.js";

/** `interlock answer`: answers the question a run waits with. */
export async function answerCommand(
  runId: string,
  text: string,
  options: { json?: boolean },
): Promise<ExitCode> {
  if (text.trim() === "") throw new UsageError("The answer is empty.");
  return withRun(runId, async (place) => {
    const { session, store, run, signal } = place;
    await run.executionStatus(); // before a worker is started for a run that is not there
    const hasWorker = await session.hasWorker();
    const ownWorker = session.embedded && !hasWorker;
    if (ownWorker) await session.startWorker();
    else if (!hasWorker) printNote(noWorkerHint(false, session.client.taskQueue));
    const stopped = "Stopped waiting. Ask whether the answer arrived with: interlock status";
    const { question } = await unlessInterrupted(place, stopped, run.state());
    if (question === undefined) throw new CommandError(`Run ${runId} does not wait for an answer.`);
    if (question.code === "BUDGET_EXCEEDED") {
      throw new CommandError(`${question.text}\n${wayOn(runId, question)}`);
    }
    await unlessInterrupted(place, stopped, run.answer({ nodeId: question.nodeId, text }));
    if (!ownWorker) {
      if (options.json === true) printJson({ runId, nodeId: question.nodeId, accepted: true });
      else print(`Answered at ${question.nodeId}. The run goes on.`);
      return EXIT.done;
    }
    printNote("No other worker is there: following the run with a worker of this command's own.");
    const followed = await followedRun(store, run);
    const choice = { json: options.json ?? false, waitForAnswers: process.stdin.isTTY };
    return followAndReport(session, store, run, followed, choice, signal);
  });
}
