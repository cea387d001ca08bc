import type { ModelTurnInput } from "../contract/activities.js";
import { NO_USAGE, type TurnUsage, addUsage } from "../core/run/usage.js";
import type { RunFiles } from "../store/runs/run-files.js";
import type { Spent } from "../store/runs/spent-file.js";

/**
 * What attempts have used whose answer was none, as their providers have counted it, where no answer counts it yet: at this turn, of
 * whichever worker, or at the one that the run has failed at before.
 */
export async function spentBefore(files: RunFiles, input: ModelTurnInput): Promise<TurnUsage | undefined> {
  const known = files.spent.read();
  if (known === undefined) return undefined;
  const { conversation, visit, turn } = known;
  const isThisTurn = conversation === input.conversation && visit === input.visit && turn === input.turn;
  const isCounted = known.countedBy !== undefined || (!isThisTurn && (await isAnswered(files, known)));
  if (!isCounted) return known.usage;
  await files.spent.remove(); // counted: a worker was killed before it did so
  return undefined;
}

/**
 * The same at the end of a run, where no answer counts it any more: counted by this change of its phase from now on, however often that is
 * recorded.
 */
export async function spentInTheEnd(files: RunFiles, change: number): Promise<TurnUsage | undefined> {
  const known = files.spent.read();
  if (known === undefined || (known.countedBy ?? change) !== change) return undefined;
  if (await isAnswered(files, known)) return undefined;
  if (known.countedBy === undefined) await files.spent.write({ ...known, countedBy: change });
  return known.usage;
}

async function isAnswered(files: RunFiles, { conversation, visit, turn }: Spent): Promise<boolean> {
  return (await files.conversation(conversation).findAnswer(visit, turn)) !== undefined;
}

/**
 * Keeps what an attempt has used for the answer that will count it, beside what is kept by now: the run may have ended meanwhile, and counted that.
 * What cannot be kept hides no error of the attempt.
 */
export async function keepSpent(files: RunFiles, input: ModelTurnInput, usage: TurnUsage): Promise<void> {
  const { conversation, visit, turn } = input;
  const before = await spentBefore(files, input).catch(() => undefined);
  const sum = withSpent(usage, before);
  await files.spent.write({ conversation, visit, turn, usage: sum }).catch(() => undefined);
}

/** What an answer has taken, with what was spent on the way to it. */
export function withSpent(usage: TurnUsage, spent: TurnUsage | undefined): TurnUsage {
  if (spent === undefined) return usage;
  const { modelTurns: _turns, toolCalls: _calls, ...sum } = addUsage({ ...NO_USAGE, ...usage }, spent);
  return sum;
}
