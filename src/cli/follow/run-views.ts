import type { Question } from "../../core/run/question.js";
import type { ProgressLine, RunBelowState, RunState } from "../../core/run/run-state.js";
import { tokensInWords, workInWords } from "../../core/run/usage.js";
import type { WorkflowGraph } from "../../core/package/graph.js";
import type { AnswerSource } from "../terminal/answers.js";
import type { RunView } from "./follow.js";
import { printNote, printNoteBlock, printStep } from "../terminal/output.js";
import { RedrawnBlock, notesOfChanges } from "./standing-notes.js";

/** Plain lines, one for each step and one for each change of what the run waits for: for pipes, logs and CI. */
export function plainView(answers: AnswerSource): RunView {
  return {
    show(_state, news) {
      for (const line of news) printStep(line.nodeId, line.text, false);
    },
    wait: notesOfChanges(),
    ask(question, below) {
      printQuestion(question, below);
      return answers.next();
    },
    close: () => answers.close(),
  };
}

/** The run, redrawn in place, with what happened above it and what it waits for below: for terminals. */
export function liveView(graph: WorkflowGraph | undefined, answers: AnswerSource): RunView {
  const block = new RedrawnBlock();
  let last: RunState | undefined;
  let isAsking = false;
  function draw(news: readonly ProgressLine[]): void {
    if (isAsking) return;
    const printNews = (): void => news.forEach(({ nodeId, text }) => printStep(nodeId, text, true));
    block.draw(last === undefined ? [] : renderRun(graph, last), news.length === 0 ? undefined : printNews);
  }
  return {
    show(state, news) {
      last = state;
      draw(news);
    },
    wait(standing) {
      block.wait(standing);
      draw([]);
    },
    async ask(question, below) {
      isAsking = true;
      block.erase();
      printQuestion(question, below);
      try {
        return await answers.next();
      } finally {
        isAsking = false;
      }
    },
    close() {
      block.close();
      answers.close();
    },
  };
}

function printQuestion(question: Question, below: RunBelowState | undefined): void {
  printNote("");
  const who = below === undefined ? "The run" : `Run ${below.runId} of ${below.workflowRef}, below it,`;
  printNote(`${who} asks, at ${question.nodeId}:`);
  printNoteBlock(question.text, "  │ ");
}

/** One line for each node of a graph, then the totals. Pure: returns the lines. */
function renderRun(graph: WorkflowGraph | undefined, state: RunState): readonly string[] {
  const done = new Set(state.stepsCompleted);
  const nodes = (graph?.nodes ?? []).map((node) => {
    const isCurrent = node.id === state.currentNodeId && state.phase !== "completed";
    const mark = isCurrent ? "▶" : done.has(node.id) ? "✔" : "·";
    return `  ${mark} ${node.id}${isCurrent ? `  (visit ${state.visit}, turn ${state.turn})` : ""}`;
  });
  const { usage } = state;
  const totals = `${workInWords(usage)}, ${tokensInWords(usage)}`;
  return ["", ...nodes, `  ${state.phase}${state.paused ? ", paused" : ""}: ${totals}`];
}
