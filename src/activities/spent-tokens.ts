import type { ModelTurnInput } from "../contract/activities.js";
import { NO_USAGE, type TurnUsage, addUsage } from "../core/run/usage.js";
import type { RunFiles } from "../store/runs/run-files.js";

/**
 * What attempts have used whose answer was none, as their providers have counted it, where no answer counts it yet: at this turn, of
 * whichever worker, or at the one that the run has failed at before.
 */
export async function spentBefore(files: RunFiles, input: ModelTurnInput): Promise<TurnUsage | undefined> {
  const known = files.spent.read();
  if (known === undefined) return undefined;
  const { conversation, visit, turn, usage } = known;
  const isThisTurn = conversation === input.conversation && visit === input.visit && turn === input.turn;
  if (!isThisTurn && (await files.conversation(conversation).findAnswer(visit, turn)) !== undefined) {
    await files.spent.remove(); // counted: a worker was killed before it did so
    return undefined;
  }
  return usage;
}

/** Keeps what an attempt has used for the answer that will count it. What cannot be kept hides no error of the attempt. */
export async function keepSpent(files: RunFiles, input: ModelTurnInput, usage: TurnUsage): Promise<void> {
  const { conversation, visit, turn } = input;
  await files.spent.write({ conversation, visit, turn, usage }).catch(() => undefined);
}

/** What an answer has taken, with what was spent on the way to it. */
export function withSpent(usage: TurnUsage, spent: TurnUsage | undefined): TurnUsage {
  if (spent === undefined) return usage;
  const { modelTurns: _turns, toolCalls: _calls, ...sum } = addUsage({ ...NO_USAGE, ...usage }, spent);
  return sum;
}
