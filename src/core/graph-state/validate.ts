import type { z } from "zod";
import { type GraphState, type GraphStateInput, GraphStateSchema } from "./schemas.js";

/** The state with its defaults, without unknown fields; throws ZodError. */
export function validateGraphState(value: unknown): GraphState {
  return GraphStateSchema.parse(value);
}

export function safeValidateGraphState(value: unknown): z.ZodSafeParseResult<GraphState> {
  return GraphStateSchema.safeParse(value);
}

/**
 * Whether validation would accept the value. The value itself is left as it is, so it is only known to be a
 * valid input: what has a default may be absent. `validateGraphState` gives the whole state.
 */
export function isValidGraphState(value: unknown): value is GraphStateInput {
  return GraphStateSchema.safeParse(value).success;
}
