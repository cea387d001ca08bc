import { condition, patched, workflowInfo } from "@temporalio/workflow";
import type { Question } from "../core/run/question.js";
import type { PendingAnswer, RunRecord } from "../core/engine/run-record.js";
import {
  ask,
  askForBudget,
  breachOf,
  endQuestion,
  isAnswered,
  isAskedFor,
  isAskedForBudget,
  isBreachOver,
  isPauseOver,
  waitBeforeTurn,
} from "../core/engine/waits.js";
import { localActivities } from "./activity-options.js";
import { changePhase, recordChanges } from "./change-phase.js";
import { continueWait, isLongNow, isReset } from "./continue-run-as-new.js";
import type { RunKind } from "./run-kind.js";
import { shielded } from "./steps-by-node.js";
import { summary } from "./summary.js";

/** Asks the user and waits, for months if need be; the answer is written down before the next turn. */
export async function askUser(record: RunRecord, kind: RunKind, question: Question): Promise<void> {
  ask(record, question);
  await changePhase(record, "waiting-user");
  await waitForAnswer(record, kind);
}

/** Waits for the answer to what is asked. */
export async function waitForAnswer(record: RunRecord, kind: RunKind): Promise<void> {
  await waitLong(record, () => isAnswered(record));
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
  const { visit, turn } = record.carried;
  const input = {
    ...record.scope,
    conversation: kind.conversation(record),
    inputId,
    nodeId: record.nodeId,
    ...(isReset() ? {} : { after: { visit, turn } }), // what was reset goes on from its files at its next turn
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
  if (isAskedForBudget(record)) await waitForBudget(record);
  for (;;) {
    await recordChanges(record);
    const wait = waitBeforeTurn(record);
    if (wait === undefined) return;
    if (wait === "pause") await waitLong(record, () => isPauseOver(record));
    else await waitForBudget(record);
  }
}

/** Waits for what somebody else does. A pause or a raised budget meanwhile is recorded at once. */
export async function waitFor(record: RunRecord, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    await recordChanges(record);
    await condition(() => isDone() || !record.isRecorded);
  }
}

/**
 * As `waitFor`, for months if need be. What is told meanwhile fills the history, and Temporal lets one execution hear 2,000 updates: the run
 * continues as new and waits on.
 */
async function waitLong(record: RunRecord, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    await recordChanges(record);
    if (isLongNow() && patched("waits-on-as-new")) {
      await continueWait(record, isDone);
      if (isDone()) return;
    }
    const { historyLength } = workflowInfo();
    // What changes nothing fills it as well, such as an update without the signature that it needs.
    const isFuller = () => isLongNow() && workflowInfo().historyLength > historyLength;
    await condition(() => isDone() || !record.isRecorded || isFuller());
  }
}

/** Says what is used up, for each limit in turn: room in one of them may show that another is reached as well. */
async function waitForBudget(record: RunRecord): Promise<void> {
  for (;;) {
    const breach = breachOf(record);
    if (breach === undefined || record.carried.ended) break;
    if (!isAskedFor(record, breach)) {
      askForBudget(record, breach);
      await changePhase(record, "waiting-user");
    }
    await waitLong(record, () => isBreachOver(record, breach));
  }
  record.question = undefined;
  if (!record.carried.ended) await changePhase(record, "running");
}
