import type { Command } from "commander";
import type { Budget } from "../core/run/budget.js";
import { amount, wholeNumber } from "./numbers.js";

export interface BudgetChoice {
  readonly maxTurns?: string;
  readonly maxTokens?: string;
  readonly maxCost?: string;
  readonly maxNodeTurns?: string;
  readonly maxNodeTokens?: string;
  readonly maxNodeCost?: string;
}

/** The budget options of commands that start a run. */
export function withBudgetOptions(command: Command): Command {
  return command
    .option("--max-turns <n>", "model turns after which the run waits for a decision")
    .option("--max-tokens <n>", "tokens, in and out, after which the run waits for a decision")
    .option("--max-cost <amount>", "cost after which the run waits; needs prices in the settings file")
    .option("--max-node-turns <n>", "the same for each visit of a node")
    .option("--max-node-tokens <n>", "the same for each visit of a node")
    .option("--max-node-cost <amount>", "the same for each visit of a node");
}

/** The budget that the options name; undefined where they name none. Throws `UsageError`. */
export function budgetOf(choice: BudgetChoice): Budget | undefined {
  const run = {
    ...(choice.maxTurns === undefined ? {} : { turns: wholeNumber("--max-turns", choice.maxTurns) }),
    ...(choice.maxTokens === undefined ? {} : { tokens: wholeNumber("--max-tokens", choice.maxTokens) }),
    ...(choice.maxCost === undefined ? {} : { cost: amount("--max-cost", choice.maxCost) }),
  };
  const node = {
    ...(choice.maxNodeTurns === undefined
      ? {}
      : { turns: wholeNumber("--max-node-turns", choice.maxNodeTurns) }),
    ...(choice.maxNodeTokens === undefined
      ? {}
      : { tokens: wholeNumber("--max-node-tokens", choice.maxNodeTokens) }),
    ...(choice.maxNodeCost === undefined ? {} : { cost: amount("--max-node-cost", choice.maxNodeCost) }),
  };
  const hasRun = Object.keys(run).length > 0;
  const hasNode = Object.keys(node).length > 0;
  if (!hasRun && !hasNode) return undefined;
  return { ...(hasRun ? { run } : {}), ...(hasNode ? { node } : {}) };
}
