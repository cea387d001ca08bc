/** Bounds of a run, of an answer and of the file tools. Counts and bytes, not times. */

/** How far a run may go before the engine stops it (contracts §9, §16). */
export interface EngineLimits {
  /** Model turns in one visit of a node. */
  readonly maxTurnsPerNode: number;
  /** Model turns in the whole run. */
  readonly maxTurnsPerRun: number;
  /** Attempts at one model turn before the run fails. */
  readonly maxModelAttempts: number;
  /** Attempts at one model turn before the next model is asked, where there is one. */
  readonly maxAttemptsBeforeFallback: number;
}

export const DEFAULT_ENGINE_LIMITS: EngineLimits = {
  maxTurnsPerNode: 50,
  maxTurnsPerRun: 2_000,
  maxModelAttempts: 8,
  maxAttemptsBeforeFallback: 3,
};

/** Tool calls that one answer may hold; those beyond are refused, not run (contracts §16). */
export const MAX_CALLS_PER_ANSWER = 32;

/**
 * Characters of tool results that follow one answer in a request: the results beyond are not sent, and the model is told
 * to ask for less at once (contracts §16). Above the largest single result that a policy allows.
 */
export const MAX_RESULT_CHARS_PER_ANSWER = 2_000_000;

/** Bytes of user input, first or answered, that a run takes at once. */
export const MAX_USER_INPUT_BYTES = 64 * 1024;

/** Characters of an answer that the update `answer` returns, and that a run keeps. */
export const ANSWER_PREVIEW_CHARS = 200;

/** Characters of an update's id that a run remembers: it carries them along. */
export const MAX_ID_CHARS = 100;

/** Characters of the name of whoever answers. */
export const MAX_PERSON_CHARS = 200;

/** Bytes of state updates that one answer may carry through the history (contracts §14). */
export const MAX_UPDATE_BYTES_PER_ANSWER = 144 * 1024;

/** File tool limits in bytes, where an agent's policy names none (contracts §7). */
export const DEFAULT_MAX_READ_BYTES = 50_000;
export const DEFAULT_MAX_WRITE_BYTES = 100_000;

/** The host's caps: no agent's policy goes above them. */
export const HOST_MAX_READ_BYTES = 1_000_000;
export const HOST_MAX_WRITE_BYTES = 4_000_000;

/** A model and its fallbacks are no more than this. */
export const MAX_MODELS_IN_CHAIN = 9;
