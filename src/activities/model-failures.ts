import { ApplicationFailure, type Info } from "@temporalio/activity";
import type { ModelTurnInput } from "../contract/activities.js";
import { defined } from "../core/defined.js";
import { NewestKept } from "../core/newest-kept.js";
import { beyondBackoff } from "../core/retry-delay.js";
import { modelLabel } from "../core/run/run-model.js";
import type { ModelSettings } from "../model/chat.js";
import { ModelError } from "../model/model-error.js";
import { keyMissing } from "./run-models.js";
import { executionOf } from "./run-scope.js";

const MAX_KEYLESS_TURNS = 1_000;

/** Turns, and the sentences that say what is missing. */
export class Keyless {
  private readonly turns = new NewestKept<string, string>(MAX_KEYLESS_TURNS);

  /** Why this worker cannot take the turn; undefined where it may ask. */
  why(input: ModelTurnInput): string | undefined {
    return this.turns.get(turnKey(input));
  }

  note(input: ModelTurnInput, missing: string): void {
    this.turns.set(turnKey(input), missing);
  }
}

/** What a turn is known by in this worker: of a run, for one of its models. Two entries may ask the same one in different ways. */
export function turnKey({ run, visit, turn, model }: ModelTurnInput): string {
  const { endpoint, model: id, name } = model ?? {};
  return JSON.stringify([run.runId, executionOf(run), visit, turn, endpoint, id, name]);
}

/** The endpoint wants a key, and none was sent: another worker may have it. */
function missingKey(error: ModelError, { model }: ModelTurnInput, { apiKey }: ModelSettings) {
  if (error.code !== "LLM_AUTH_FAILED" || model === undefined || apiKey !== undefined) return undefined;
  return `it has no key for the model ${modelLabel(model)}, and was refused without one: ${error.message.trim().replace(/\.$/, "")}`;
}

/** Where another model can be asked, nobody waits longer than this for one that asks to wait. */
const LONGEST_WAIT_BEFORE_FALLBACK_MS = 30_000;

/** What was asked, and of whom. */
export interface FailedTurn {
  readonly input: ModelTurnInput;
  readonly settings: ModelSettings;
  readonly info: Pick<Info, "attempt" | "retryPolicy">;
  readonly keyless: Keyless;
}

/** A model error as Temporal has to see it: type, whether and when to try again. Aborts pass as they are. */
export function toFailure(error: unknown, { input, settings, info, keyless }: FailedTurn): unknown {
  if (!(error instanceof ModelError)) return error;
  const missing = missingKey(error, input, settings);
  if (missing !== undefined) {
    keyless.note(input, missing);
    return keyMissing(missing);
  }
  const { code, message, retryable, retryAfterMs } = error;
  const isTooLong = input.mayFallBack === true && (retryAfterMs ?? 0) > LONGEST_WAIT_BEFORE_FALLBACK_MS;
  const attempts = info.retryPolicy?.maximumAttempts ?? 0;
  const which = `(attempt ${info.attempt}${attempts === 0 ? "" : ` of ${attempts}`})`;
  return ApplicationFailure.create({
    type: code,
    message: retryable ? `${message} ${which}` : message,
    nonRetryable: !retryable || isTooLong,
    // Many calls at once are no fault of anything: not an error in logs and metrics.
    ...(code === "LLM_RATE_LIMITED" ? { category: "BENIGN" } : {}),
    ...defined({ nextRetryDelay: beyondBackoff(retryAfterMs, info) }),
  });
}
