import { interruption, openEnvironment } from "./environment.js";
import { CommandError, EXIT, type ExitCode, UsageError, print, printJson, printNote } from "./output.js";
import { followedRun } from "./go-on.js";
import { followAndReport } from "./start-run.js";
import { installRuntime, openTemporalSession } from "./temporal-session.js";

/** `interlock answer`: answers the question a run waits with. */
export async function answerCommand(
  runId: string,
  text: string,
  options: { json?: boolean },
): Promise<ExitCode> {
  if (text.trim() === "") throw new UsageError("The answer is empty.");
  const { config, store } = await openEnvironment();
  const signal = interruption();
  installRuntime("ERROR");
  const session = await openTemporalSession(config, store);
  try {
    const ownWorker = session.embedded && !(await session.client.hasWorker());
    if (ownWorker) await session.startWorker();
    const run = session.client.handle(runId);
    const { question } = await run.state();
    if (question === undefined) throw new CommandError(`Run ${runId} does not wait for an answer.`);
    await run.answer({ nodeId: question.nodeId, text });
    if (!ownWorker) {
      if (options.json === true) printJson({ runId, nodeId: question.nodeId, accepted: true });
      else print(`Answered at ${question.nodeId}. The run goes on.`);
      return EXIT.done;
    }
    printNote("No other worker is there: following the run with a worker of this command's own.");
    const followed = await followedRun(store, run);
    const choice = { json: options.json ?? false, waitForAnswers: process.stdin.isTTY };
    return await followAndReport(session, store, run, followed, choice, signal);
  } finally {
    await session.close();
  }
}
