import type { BundleToolResult } from "../../core/bundle/bundle-result.js";
import { defined } from "../../core/defined.js";
import type { ErrorCode } from "../../core/errors.js";
import { failpoint } from "../../core/failpoint.js";
import type { JsonObject } from "../../core/json.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import { AppendLog, parseLine } from "../disk/append-log.js";
import type { LinePosition } from "../disk/line-index.js";
import { type HeldLock, NO_LOCK } from "../disk/fenced-lock.js";

/** A run's journal holds results of one kind: those of its own tools. */
export type RecordedResult = ToolResult | BundleToolResult;

/** What a call came to, and what is kept of it for its repetition. */
export interface CallOutcome<R extends RecordedResult = ToolResult> {
  readonly result: R;
  /** Why the call failed, where the result itself does not hold a code. */
  readonly code?: ErrorCode;
  /** The state document after the call, when the call changed it. */
  readonly state?: { readonly sha256: string; readonly artifact?: string };
  /** The document on disk was not the one that the engine holds. */
  readonly stateConflict?: boolean;
}

/**
 * Which tool calls of a run have happened. A call is planned (what exactly it is about to write) before its
 * effect and recorded after it, so that a repetition finds either its result or what it had begun.
 */
export class CallJournal {
  private readonly log: AppendLog;
  private readonly plans = new Map<string, LinePosition>();
  private readonly results = new Map<string, LinePosition>();

  constructor(path: string, lockFile: string, owner: HeldLock) {
    const toEntry = (line: Buffer): JsonObject | undefined => {
      const { id, result } = parseLine(line) ?? {};
      if (typeof id !== "string") return undefined;
      return result === undefined ? { id, planned: true } : { id };
    };
    const onEntry = (entry: JsonObject | undefined, position: LinePosition): void => {
      const id = entry?.["id"];
      if (typeof id !== "string") return;
      if (entry?.["planned"] !== true) {
        if (!this.results.has(id)) this.results.set(id, position);
        this.plans.delete(id);
      } else if (!this.results.has(id)) this.plans.set(id, position);
    };
    this.log = new AppendLog(path, lockFile, { toEntry, onEntry }, { owner });
  }

  fence(): Promise<void> {
    return this.log.fence();
  }

  /** `owner` is the lock under which the call takes effect: who has lost it plans and records nothing. */
  async plan(id: string, plan: JsonObject, owner: HeldLock = NO_LOCK): Promise<void> {
    await this.log.append(() => [{ id, plan }], owner);
    failpoint("call.planned");
  }

  /** Plans a call that may be made once: false where any attempt has planned it before, and may have made it. */
  async claim(id: string): Promise<boolean> {
    let isFirst = false;
    await this.log.append(() => {
      if (this.plans.has(id) || this.results.has(id)) return [];
      isFirst = true;
      return [{ id, plan: {} }];
    });
    failpoint("call.planned");
    return isFirst;
  }

  /** What an unfinished earlier attempt had planned. Call `find` first: it reads the file. */
  planOf(id: string): JsonObject | undefined {
    const position = this.plans.get(id);
    if (position === undefined) return undefined;
    return this.log.readAt([position])[0]?.["plan"] as JsonObject | undefined; // written by `plan`
  }

  /** False when the call is recorded already: that record stands. */
  async record(id: string, call: CallOutcome<RecordedResult>, owner: HeldLock = NO_LOCK): Promise<boolean> {
    let recorded = false;
    await this.log.append(() => {
      if (this.results.has(id)) return [];
      recorded = true;
      const { code, state, stateConflict } = call;
      return [
        {
          id,
          result: call.result as JsonObject, // tool results are JSON
          ...defined({ code, state, stateConflict }),
        },
      ];
    }, owner);
    failpoint("call.recorded");
    return recorded;
  }

  /** How many calls are recorded. */
  async count(): Promise<number> {
    await this.log.refresh();
    return this.results.size;
  }

  /** What the first calls have written into the project: the hash of each file's last content, by alias path. */
  async filesWritten(calls: number): Promise<ReadonlyMap<string, string>> {
    await this.log.refresh();
    const records = this.log.readAt([...this.results.values()].slice(0, calls));
    const written = new Map<string, string>();
    for (const { result } of records as unknown as readonly CallOutcome[]) {
      if (!result.ok) continue; // a read has no sha256After, a patch is not in the project
      const { path, sha256After } = result;
      if (typeof path !== "string" || typeof sha256After !== "string") continue;
      if (path.startsWith("@project/")) written.set(path, sha256After);
    }
    return written;
  }

  /** The recorded call of that id, read from the file as it is now. */
  async find<R extends RecordedResult = ToolResult>(id: string): Promise<CallOutcome<R> | undefined> {
    return (await this.findAll<R>([id])).get(id);
  }

  /** Those of the calls that are recorded, by id. */
  async findAll<R extends RecordedResult = ToolResult>(
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, CallOutcome<R>>> {
    if (!ids.every((id) => this.results.has(id))) await this.log.refresh();
    const found = new Map<string, LinePosition>();
    for (const id of ids) {
      const position = this.results.get(id);
      if (position !== undefined) found.set(id, position);
    }
    const records = this.log.readAt([...found.values()]);
    return new Map([...found.keys()].map((id, index) => [id, records[index] as unknown as CallOutcome<R>])); // written by `record`
  }
}
