import { condition } from "@temporalio/workflow";
import type { Question } from "../core/run/question.js";
import { type BudgetBreach, findBreach } from "../core/run/budget.js";
import { NO_LOOP } from "../core/run/loop-detection.js";
import { localActivities } from "./activity-options.js";
import { changePhase, recordChanges } from "./change-phase.js";
import type { RunKind } from "./run-kind.js";
import type { RunRecord } from "./run-record.js";
import { tellGraphState } from "./run-graph-state.js";
import { summary } from "./summary.js";

/** Under which the user's first words are written down; an answer's is that of its update. */
export const FIRST_WORDS_ID = "input";

/** Asks the user and waits, for months if need be; the answer is written down before the next turn. */
export async function askUser(record: RunRecord, kind: RunKind, question: Question): Promise<void> {
  record.question = question;
  tellGraphState(record, { kind: "asked" });
  await changePhase(record, "waiting-user");
  await waitFor(record, () => record.answer !== undefined || record.carried.ended);
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
    summary(`input for ${record.nodeId}`),
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

/** Waits while somebody has paused the run, and while its budget is used up: the run is not lost. */
export async function waitUntilFree(record: RunRecord): Promise<void> {
  for (;;) {
    await recordChanges(record);
    if (record.carried.ended) return;
    const breach = breachOf(record);
    if (record.carried.paused) await waitFor(record, () => !record.carried.paused || record.carried.ended);
    else if (breach !== undefined) await waitForBudget(record, breach);
    else return;
  }
}

/** Waits for what somebody else does. A pause or a raised budget meanwhile is recorded at once. */
async function waitFor(record: RunRecord, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    await recordChanges(record);
    await condition(() => isDone() || !record.isRecorded);
  }
}

/** Says what is used up, for each limit in turn: room in one of them may show that another is reached as well. */
async function waitForBudget(record: RunRecord, first: BudgetBreach): Promise<void> {
  let breach: BudgetBreach | undefined = first;
  while (breach !== undefined && !record.carried.ended) {
    const { scope, unit, limit }: BudgetBreach = breach;
    record.question = { nodeId: record.nodeId, text: describeBreach(breach), code: "BUDGET_EXCEEDED" };
    await changePhase(record, "waiting-user");
    await waitFor(record, () => {
      const now = breachOf(record);
      return now?.scope !== scope || now.unit !== unit || now.limit !== limit || record.carried.ended;
    });
    breach = breachOf(record);
  }
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
