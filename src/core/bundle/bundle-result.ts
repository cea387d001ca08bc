import type { JsonValue } from "../json.js";

/** What a tool call of a bundle run gives back to the model, as JSON (contracts §13). */
export type BundleToolResult = BundleToolSuccess | BundleToolFailure;

export interface BundleToolSuccess {
  readonly success: true;
  readonly [key: string]: JsonValue;
}

export interface BundleToolFailure {
  readonly success: false;
  /** A sentence that names the place and the remedy. */
  readonly error: string;
  /** The path in its variable spelling, where it could be read as one. */
  readonly path?: string;
}
