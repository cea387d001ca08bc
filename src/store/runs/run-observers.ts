import type { JsonObject } from "../../core/json.js";
import { type RunEvent, toRunEvent } from "../../core/run/run-event.js";

/** Who hears of the events that this process writes into audit logs. */
export class RunObservers {
  private readonly observers = new Set<(event: RunEvent) => void>();

  /** Returns what ends it. */
  add(tell: (event: RunEvent) => void): () => void {
    this.observers.add(tell);
    return () => void this.observers.delete(tell);
  }

  /** Tells of a line that was written, where it is an event. What an observer makes of it is not the run's trouble. */
  tell(line: JsonObject, seq: number, runId: string): void {
    if (this.observers.size === 0) return;
    const event = toRunEvent(line, seq, runId);
    if (event === undefined) return;
    for (const tell of this.observers) {
      try {
        tell(event);
      } catch {
        // it is written down
      }
    }
  }
}
