import type { Fault } from "../errors.js";
import type { JsonValue } from "../json.js";

/** What a tool call gives back to the model, as JSON (contracts §7). */
export type ToolResult = ToolSuccess | ToolFailure;

export interface ToolSuccess {
  readonly ok: true;
  readonly [key: string]: JsonValue;
}

export interface ToolFailure {
  readonly ok: false;
  readonly error: Fault;
}
