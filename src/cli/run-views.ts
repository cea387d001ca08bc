import type { Question } from "../core/run/question.js";
import type { RunState } from "../core/run/run-state.js";
import { tokensInWords } from "../core/run/usage.js";
import type { WorkflowGraph } from "../core/package/graph.js";
import type { AnswerSource } from "./answers.js";
import type { RunView } from "./follow.js";
import { eraseNotes, printNote, printNoteBlock, printStep } from "./output.js";

/** Plain lines, one for each step: for pipes, logs and CI. */
export function plainView(answers: AnswerSource): RunView {
  return {
    show(_state, news) {
      for (const line of news) printStep(line.nodeId, line.text, false);
    },
    ask(question) {
      printQuestion(question);
      return answers.next();
    },
    close: () => answers.close(),
  };
}

/** The graph, redrawn in place, with what happened below it: for terminals. */
export function liveView(graph: WorkflowGraph, answers: AnswerSource): RunView {
  let drawn = 0;
  function erase(): void {
    eraseNotes(drawn);
    drawn = 0;
  }
  return {
    show(state, news) {
      if (news.length === 0 && drawn > 0) return;
      erase();
      for (const line of news) printStep(line.nodeId, line.text, true);
      const block = renderGraph(graph, state);
      for (const line of block) printNote(line);
      drawn = block.length;
    },
    ask(question) {
      erase();
      printQuestion(question);
      return answers.next();
    },
    close: () => answers.close(),
  };
}

function printQuestion(question: Question): void {
  printNote("");
  printNote(`The run asks, at ${question.nodeId}:`);
  printNoteBlock(question.text, "  │ ");
}

/** One line for each node, then the totals. Pure: returns the lines. */
export function renderGraph(graph: WorkflowGraph, state: RunState): readonly string[] {
  const done = new Set(state.stepsCompleted);
  const nodes = graph.nodes.map((node) => {
    const isCurrent = node.id === state.currentNodeId && state.phase !== "completed";
    const mark = isCurrent ? "▶" : done.has(node.id) ? "✔" : "·";
    return `  ${mark} ${node.id}${isCurrent ? `  (visit ${state.visit}, turn ${state.turn})` : ""}`;
  });
  const { usage } = state;
  const totals = `${usage.modelTurns} model turns, ${usage.toolCalls} tool calls, ${tokensInWords(usage)}`;
  return ["", ...nodes, `  ${state.phase}${state.paused ? ", paused" : ""}: ${totals}`];
}
