import { condition } from "@temporalio/workflow";
import type { BudgetBreach } from "../core/run/budget.js";
import type { Question } from "../core/run/question.js";
import type { PendingAnswer, RunRecord } from "../core/run/run-record.js";
import {
  ask,
  askForBudget,
  breachOf,
  endQuestion,
  isAnswered,
  isBreachOver,
  isPauseOver,
  waitBeforeTurn,
} from "../core/run/waits.js";
import { localActivities } from "./activity-options.js";
import { changePhase, recordChanges } from "./change-phase.js";
import type { RunKind } from "./run-kind.js";
import { shielded } from "./steps-by-node.js";
import { summary } from "./summary.js";

/** Asks the user and waits, for months if need be; the answer is written down before the next turn. */
export async function askUser(record: RunRecord, kind: RunKind, question: Question): Promise<void> {
  ask(record, question);
  await changePhase(record, "waiting-user");
  await waitFor(record, () => isAnswered(record));
  const { answer } = record;
  if (answer !== undefined) await writeUserInput(record, kind, answer);
  endQuestion(record);
  if (!record.carried.ended) await changePhase(record, "running");
}

/** Puts the user's words into the conversation of the visit, once. */
export async function writeUserInput(
  record: RunRecord,
  kind: RunKind,
  { id: inputId, ...said }: PendingAnswer,
): Promise<void> {
  const input = {
    run: record.opened.run,
    conversation: kind.conversation(record),
    inputId,
    nodeId: record.nodeId,
    ...said,
  };
  const shown = summary(`input for ${record.nodeId}`);
  const audit = await shielded(record, () =>
    localActivities["user.input"].executeWithOptions(shown, [input]),
  );
  record.noteAudit(audit);
  record.note("user input received");
}

/** Waits while somebody has paused the run, and while its budget is used up: the run is not lost. */
export async function waitUntilFree(record: RunRecord): Promise<void> {
  for (;;) {
    await recordChanges(record);
    const wait = waitBeforeTurn(record);
    if (wait === undefined) return;
    if (wait.kind === "pause") await waitFor(record, () => isPauseOver(record));
    else await waitForBudget(record, wait.breach);
  }
}

/** Waits for what somebody else does. A pause or a raised budget meanwhile is recorded at once. */
export async function waitFor(record: RunRecord, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    await recordChanges(record);
    await condition(() => isDone() || !record.isRecorded);
  }
}

/** Says what is used up, for each limit in turn: room in one of them may show that another is reached as well. */
async function waitForBudget(record: RunRecord, first: BudgetBreach): Promise<void> {
  let breach: BudgetBreach | undefined = first;
  while (breach !== undefined && !record.carried.ended) {
    const reached: BudgetBreach = breach;
    askForBudget(record, reached);
    await changePhase(record, "waiting-user");
    await waitFor(record, () => isBreachOver(record, reached));
    breach = breachOf(record);
  }
  record.question = undefined;
  if (!record.carried.ended) await changePhase(record, "running");
}
