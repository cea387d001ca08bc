import type { z } from "zod";
import type { GraphState, StateSnapshotState } from "./schemas.js";
import { validateGraphState } from "./validate.js";

export function serializeState(state: GraphState): string {
  return JSON.stringify(state);
}

/** Throws SyntaxError on what is not JSON, ZodError on what is not a state. */
export function deserializeState(text: string): GraphState {
  // JSON.parse would turn other values into text first, and run their code.
  if (typeof text !== "string") throw new SyntaxError("a serialized state is a JSON text");
  const value: unknown = JSON.parse(text);
  return validateGraphState(value);
}

/** Never throws, whatever it is given. */
export function safeDeserializeState(
  text: string,
): z.ZodSafeParseSuccess<GraphState> | { success: false; error: Error } {
  try {
    return { success: true, data: deserializeState(text) };
  } catch (error) {
    // Everything thrown above is an Error: SyntaxError, ZodError, or the engine's own RangeError.
    return { success: false, error: error as Error };
  }
}

/** A deep copy of a state or of a snapshot's state, which shares nothing with the original. */
export function cloneState<State extends StateSnapshotState>(state: State): State {
  return copyOf(state);
}

function copyOf<Value>(value: Value): Value {
  // The casts only say that a copy has the type of its original.
  if (Array.isArray(value)) return value.map(copyOf) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)])) as Value;
}
