import { condition } from "@temporalio/workflow";
import type { Question } from "../contract/run.js";
import { type BudgetBreach, findBreach } from "../core/engine/budget.js";
import { NO_LOOP } from "../core/engine/loop-detection.js";
import { localActivities } from "./activity-options.js";
import { changePhase } from "./change-phase.js";
import type { RunKind } from "./run-kind.js";
import type { RunRecord } from "./run-record.js";
import { tellStory } from "./story.js";

/** Asks the user and waits, for months if need be; the answer is written down before the next turn. */
export async function askUser(record: RunRecord, kind: RunKind, question: Question): Promise<void> {
  record.question = question;
  tellStory(record, { kind: "asked" });
  await changePhase(record, "waiting-user");
  await condition(() => record.answer !== undefined || record.carried.ended);
  const { answer } = record;
  if (answer !== undefined) await writeUserInput(record, kind, answer.id, answer.text);
  record.question = undefined;
  record.answer = undefined;
  record.update({ loop: NO_LOOP });
  if (!record.carried.ended) await changePhase(record, "running");
}

/** Puts the user's words into the conversation of the visit, once. */
export async function writeUserInput(
  record: RunRecord,
  kind: RunKind,
  inputId: string,
  text: string,
): Promise<void> {
  const audit = await localActivities["user.input"].executeWithOptions(
    { summary: `input for ${record.nodeId}`.slice(0, 200) },
    [
      {
        run: record.opened.run,
        conversation: kind.conversation(record),
        inputId,
        nodeId: record.nodeId,
        text,
      },
    ],
  );
  record.noteAudit(audit);
  record.note("user input received");
}

/** Waits until the run is no longer paused. */
export async function waitWhilePaused(record: RunRecord): Promise<void> {
  const { phase } = record.carried;
  await changePhase(record, phase);
  await condition(() => !record.carried.paused || record.carried.ended);
  if (record.carried.ended) record.update({ paused: false });
  await changePhase(record, phase);
}

/** Waits for a decision: the budget is used up, and the run is not lost. */
export async function waitForBudget(record: RunRecord): Promise<void> {
  const breach = breachOf(record);
  if (breach === undefined) return;
  record.question = { nodeId: record.nodeId, text: describeBreach(breach), code: "BUDGET_EXCEEDED" };
  await changePhase(record, "waiting-user");
  await condition(() => breachOf(record) === undefined || record.carried.ended);
  record.question = undefined;
  if (!record.carried.ended) await changePhase(record, "running");
}

export function breachOf(record: RunRecord): BudgetBreach | undefined {
  const { budget, usage, visitUsage } = record.carried;
  return findBreach(budget, { run: usage, node: visitUsage });
}

function describeBreach({ scope, unit, limit, used }: BudgetBreach): string {
  const what = unit === "turns" ? "model turns" : unit;
  const amount = unit === "cost" ? used.toFixed(4) : String(used);
  const where = scope === "run" ? "run" : "node visit";
  return `The budget of this ${where} is used up: ${amount} of ${limit} ${what}. Raise it with --add-${unit} to let the run go on, or cancel it.`;
}
