import { CommandError, type ExitCode, UsageError } from "../output.js";
import { wayOn } from "../run-report.js";
import { tellAndFollow } from "../tell.js";

/** `interlock answer`: answers the question a run waits with. */
export async function answerCommand(
  runId: string,
  text: string,
  options: { json?: boolean },
): Promise<ExitCode> {
  if (text.trim() === "") throw new UsageError("The answer is empty.");
  return tellAndFollow(runId, options, async (run, { question, paused }) => {
    if (question === undefined) throw new CommandError(`Run ${runId} does not wait for an answer.`);
    if (question.code === "BUDGET_EXCEEDED") {
      throw new CommandError(`${question.text}\n${wayOn(runId, question)}`);
    }
    const { nodeId } = question;
    await run.answer({ nodeId, text });
    const sentence = `Answered at ${nodeId}.${paused ? "" : " The run goes on."}`;
    return { sentence, result: { nodeId, accepted: true }, staysPaused: paused };
  });
}
