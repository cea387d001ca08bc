import { randomUUID } from "node:crypto";
import { InterlockError, type RunHandle } from "../../client/client.js";
import { namesUnknownField } from "../../contract/updates.js";
import type { Config } from "../../config.js";
import { type Question, asksForBudget, questionIn } from "../../core/run/question.js";
import type { RunState } from "../../core/run/run-state.js";
import { answerText, answeredBy, checkedText } from "../terminal/answer-text.js";
import { editAnswer } from "../terminal/edit-answer.js";
import { CommandError, type ExitCode, printNote, printNoteBlock } from "../terminal/output.js";
import { wayOn } from "../report/print-report.js";
import { tellPrepared } from "../start/tell.js";

interface AnswerOptions {
  readonly file?: string;
  readonly node?: string;
  readonly question?: string;
  readonly as?: string;
  readonly json?: boolean;
}

/**
 * `interlock answer`: answers the question a run waits with, by a text, standard input, a file or an editor. What is sent is bound to
 * the question that was read: it is refused where the run has come to another one.
 */
export async function answerCommand(
  runId: string,
  text: string | undefined,
  options: AnswerOptions,
): Promise<ExitCode> {
  const by = answeredBy(options.as);
  const given = await answerText({ text, file: options.file });
  const before = async (state: RunState, { editor }: Pick<Config, "editor">): Promise<string> => {
    const question = openQuestion(runId, state, options);
    if (given !== undefined) return given;
    const asked = { runId, nodeId: question.nodeId, question: questionIn(state), text: question.text };
    const written = await editAnswer(editor, asked);
    if (written === "") throw new CommandError("The answer is empty: nothing was sent.");
    return kept(written, () => checkedText(written));
  };
  return tellPrepared(runId, options, {
    before,
    async tell(run, state, answer, once) {
      const { nodeId } = openQuestion(runId, state, options);
      const question = questionIn(state);
      const answerId = randomUUID(); // sent again, it is taken once
      const send = () => once(() => sendAnswer(run, { nodeId, text: answer, question, by, answerId }));
      await (given === undefined ? kept(answer, send) : send());
      const sentence = `Answered at ${nodeId}.${state.paused ? "" : " The run goes on."}`;
      return { sentence, result: { nodeId, question, by, accepted: true }, staysPaused: state.paused };
    },
  });
}

async function sendAnswer(run: RunHandle, answer: Parameters<RunHandle["answer"]>[0]): Promise<void> {
  try {
    await run.answer(answer);
  } catch (error) {
    const isOlder = error instanceof InterlockError && namesUnknownField(error.message);
    if (!isOlder) throw error;
    throw new CommandError(
      `${error.message} The run's worker is of an earlier version, which cannot bind an answer to its question. Update the worker.`,
      { cause: error },
    );
  }
}

/** The question that the run waits with, where it is the one that is meant. */
function openQuestion(runId: string, state: RunState, { node, question: meant }: AnswerOptions): Question {
  const { question } = state;
  if (question === undefined) {
    const { below } = state;
    const hint =
      below === undefined ? "" : ` It waits for run ${below.runId} of ${below.workflowRef}: answer that one.`;
    throw new CommandError(`Run ${runId} does not wait for an answer.${hint}`);
  }
  if (asksForBudget(question)) {
    throw new CommandError(`${question.text}\n${wayOn(runId, question)}`);
  }
  if (node !== undefined && node !== question.nodeId) {
    throw new CommandError(`Run ${runId} asks at ${question.nodeId}, not at ${node}: nothing was sent.`);
  }
  const asked = questionIn(state);
  if (meant !== undefined && meant !== asked) {
    throw new CommandError(`Run ${runId} waits with question ${asked}, not with ${meant}: nothing was sent.`);
  }
  return question;
}

/** What somebody has written is not lost where it cannot be sent. */
async function kept<T>(written: string, action: () => T | Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    printNote("The answer was not sent:");
    printNoteBlock(written, "  │ ");
    throw error;
  }
}
