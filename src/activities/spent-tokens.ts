import type { ModelTurnInput } from "../contract/activities.js";
import { NO_USAGE, type TurnUsage, addUsage } from "../core/run/usage.js";

/**
 * What attempts at a turn have used whose answer was none, as their providers have counted it: the answer that a later attempt of this
 * worker brings counts it as well.
 */
export class SpentTokens {
  private readonly turns = new Map<string, TurnUsage>();

  of(input: ModelTurnInput): TurnUsage | undefined {
    return this.turns.get(keyOf(input));
  }

  add(input: ModelTurnInput, usage: TurnUsage): void {
    const key = keyOf(input);
    const spent = withSpent(usage, this.turns.get(key));
    this.turns.delete(key);
    const [oldest] = this.turns.keys();
    if (oldest !== undefined && this.turns.size >= MAX_TURNS) this.turns.delete(oldest);
    this.turns.set(key, spent);
  }

  forget(input: ModelTurnInput): void {
    this.turns.delete(keyOf(input));
  }
}

const MAX_TURNS = 1_000;

/** Of a run, whichever of its models was asked. */
function keyOf({ run, visit, turn }: ModelTurnInput): string {
  return JSON.stringify([run.runId, run.execution ?? 1, visit, turn]);
}

/** What an answer has taken, with what was spent on the way to it. */
export function withSpent(usage: TurnUsage, spent: TurnUsage | undefined): TurnUsage {
  if (spent === undefined) return usage;
  const { modelTurns: _turns, toolCalls: _calls, ...sum } = addUsage({ ...NO_USAGE, ...usage }, spent);
  return sum;
}
