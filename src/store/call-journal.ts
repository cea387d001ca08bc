import type { JsonObject } from "../core/json.js";
import type { ToolResult } from "../core/tools/tool-result.js";
import { AppendLog, type LinePosition, parseLine } from "./append-log.js";

/** What a finished call leaves for its repetition. */
export interface RecordedCall {
  readonly result: ToolResult;
  /** What the call did to the state document. */
  readonly state?: { readonly sha256: string; readonly artifact?: string };
}

/**
 * Which tool calls of a run have happened. A call is planned (what exactly it is about to write) before its
 * effect and recorded after it, so that a repetition finds either its result or what it had begun.
 */
export class CallJournal {
  private readonly log: AppendLog;
  private readonly plans = new Map<string, JsonObject>();
  private readonly results = new Map<string, LinePosition>();

  constructor(path: string, lockFile: string) {
    this.log = new AppendLog(path, lockFile, (line, position) => {
      const entry = parseLine(line);
      const id = entry?.["id"];
      if (entry === undefined || typeof id !== "string") return;
      if (entry["result"] !== undefined) {
        if (!this.results.has(id)) this.results.set(id, position);
        this.plans.delete(id);
      } else if (!this.results.has(id)) this.plans.set(id, entry["plan"] as JsonObject); // written by `plan`
    });
  }

  async plan(id: string, plan: JsonObject): Promise<void> {
    await this.log.append(() => [{ id, plan }]);
  }

  /** What an unfinished earlier attempt had planned. Call `find` first: it reads the file. */
  planOf(id: string): JsonObject | undefined {
    return this.plans.get(id);
  }

  async record(id: string, call: RecordedCall): Promise<void> {
    await this.log.append(() =>
      this.results.has(id)
        ? []
        : [
            {
              id,
              result: call.result as JsonObject,
              ...(call.state ? { state: call.state } : {}),
            },
          ],
    );
  }

  /** The recorded call of that id, read from the file as it is now. */
  async find(id: string): Promise<RecordedCall | undefined> {
    if (!this.results.has(id)) await this.log.refresh();
    const position = this.results.get(id);
    if (position === undefined) return undefined;
    return (await this.log.readAt(position)) as unknown as RecordedCall; // written by `record`
  }
}
