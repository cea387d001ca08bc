import type { Command } from "commander";
import type { Budget, BudgetLimits } from "../../core/run/budget.js";
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
  const run = limitsOf("--max", choice.maxTurns, choice.maxTokens, choice.maxCost);
  const node = limitsOf("--max-node", choice.maxNodeTurns, choice.maxNodeTokens, choice.maxNodeCost);
  const hasRun = Object.keys(run).length > 0;
  const hasNode = Object.keys(node).length > 0;
  if (!hasRun && !hasNode) return undefined;
  return { ...(hasRun ? { run } : {}), ...(hasNode ? { node } : {}) };
}

/** What the options `…-turns`, `…-tokens` and `…-cost` say. Throws `UsageError`. */
export function limitsOf(
  option: "--max" | "--max-node" | "--add",
  turns: string | undefined,
  tokens: string | undefined,
  cost: string | undefined,
): BudgetLimits {
  return {
    ...(turns === undefined ? {} : { turns: wholeNumber(`${option}-turns`, turns) }),
    ...(tokens === undefined ? {} : { tokens: wholeNumber(`${option}-tokens`, tokens) }),
    ...(cost === undefined ? {} : { cost: amount(`${option}-cost`, cost) }),
  };
}
