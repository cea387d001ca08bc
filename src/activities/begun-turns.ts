import type { ModelTurnInput, ModelTurnResult } from "../contract/activities.js";
import { within } from "../within.js";
import { turnKey } from "./model-failures.js";

/**
 * How long an answer is waited for that no activity waits for, in milliseconds. Most are there by then: the run may have been paused
 * meanwhile, and finds it written down when it goes on. One that is over ends its turns; one that was terminated cannot.
 */
const TAKEN_OVER_WITHIN_MS = 120_000;
/** How long the end of a turn is waited for that was called off, in milliseconds: less than the activity has that waits. */
const ENDS_WITHIN_MS = 2_000;

type Outcome = { readonly result: ModelTurnResult } | { readonly error: unknown };

interface BegunTurn {
  readonly runId: string;
  readonly outcome: Promise<Outcome>;
  /** It is waited for no longer than this; undefined while an activity waits. */
  forgetting?: NodeJS.Timeout;
  readonly cancel: (reason: unknown) => void;
}

/**
 * Turns that this worker has begun and whose end nobody has heard of: a workflow task waits for a moment only. Whoever asks
 * for the same turn next takes it over, so that the model is asked once and a failure counts once.
 */
export class BegunTurns {
  private readonly turns = new Map<string, BegunTurn>();

  /** Begins a turn, or finds it begun. Undefined where it is not over within `patienceMs`, or has failed: it can be taken over then. */
  async begin(
    input: ModelTurnInput,
    patienceMs: number,
    take: (signal: AbortSignal) => Promise<ModelTurnResult>,
  ): Promise<ModelTurnResult | undefined> {
    const key = turnKey(input);
    const turn = this.turns.get(key) ?? this.add(key, input.run.runId, take);
    clearTimeout(turn.forgetting);
    const outcome = await within(patienceMs, turn.outcome);
    if (outcome !== undefined && "result" in outcome) {
      this.turns.delete(key);
      return outcome.result;
    }
    turn.forgetting = setTimeout(() => {
      this.turns.delete(key);
      turn.cancel(new Error("Nobody waits for the answer any more."));
    }, TAKEN_OVER_WITHIN_MS).unref();
    return undefined;
  }

  /** The end of a turn that was begun here, as if it had been begun by whoever asks; undefined where none was. */
  takeOver(input: ModelTurnInput, signal: AbortSignal): Promise<ModelTurnResult> | undefined {
    const key = turnKey(input);
    const turn = this.turns.get(key);
    if (turn === undefined) return undefined;
    this.turns.delete(key);
    clearTimeout(turn.forgetting);
    return endOf(turn, signal);
  }

  /** Ends those of a run that is over: when this resolves, nothing more is written of them, or not for a while. */
  async endOfRun(runId: string): Promise<void> {
    const left = [...this.turns].filter(([, turn]) => turn.runId === runId);
    for (const [key, turn] of left) {
      this.turns.delete(key);
      clearTimeout(turn.forgetting);
      turn.cancel(new Error("The run is over."));
    }
    await within(ENDS_WITHIN_MS, Promise.all(left.map(([, { outcome }]) => outcome)));
  }

  private add(
    key: string,
    runId: string,
    take: (signal: AbortSignal) => Promise<ModelTurnResult>,
  ): BegunTurn {
    const controller = new AbortController();
    const outcome = take(controller.signal).then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    const turn: BegunTurn = { runId, outcome, cancel: (reason) => controller.abort(reason) };
    this.turns.set(key, turn);
    return turn;
  }
}

async function endOf(turn: BegunTurn, signal: AbortSignal): Promise<ModelTurnResult> {
  const cancel = () => turn.cancel(signal.reason);
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const outcome = await turn.outcome;
    if ("error" in outcome) throw outcome.error;
    return outcome.result;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
