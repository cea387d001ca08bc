/**
 * What one step of a run is in its history: each model turn and each save an activity of its own, or a node's work together. The
 * words are those of `steps` in the input of a run and in `bmad.json`.
 */
export const STEP_SIZES = ["turns", "nodes"] as const;
export type StepSize = (typeof STEP_SIZES)[number];

/**
 * How long a turn may take inside a workflow task, in milliseconds: messages to the run wait as long. One that takes
 * longer goes on as an activity of its own, and so do those after it until one is quicker.
 */
export const QUICK_TURN_MS = 1_000;

/** Every so many turns of a visit one is an activity of its own: a long visit shows that it goes on, and its task comes to an end. */
export const QUICK_TURNS_IN_A_ROW = 32;

/** So many turns at most are taken along with a quick one. */
export const TURNS_AHEAD = 7;
