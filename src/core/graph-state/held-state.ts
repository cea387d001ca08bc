import type { StateSnapshotState } from "./schemas.js";

/** A graph state without its history, and how often it has changed: an older one never replaces a newer one. */
export interface HeldGraphState {
  readonly state: StateSnapshotState;
  readonly change: number;
}
