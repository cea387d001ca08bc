import { failpoint } from "../../core/failpoint.js";
import type { JsonObject } from "../../core/json.js";
import type { AuditHead } from "../../core/run/audit-head.js";
import { AppendLog, parseLine, toLine } from "../disk/append-log.js";
import { type AuditTotals, AuditSum, summedFields } from "./audit-totals.js";
import type { HeldLock } from "../disk/fenced-lock.js";
import { sha256 } from "../disk/sha256.js";

/** What `prev` holds in a log's first line. */
export const CHAIN_START = "0".repeat(64);

/** An event before it is written. `ts` and `prev` are added by the log. */
export interface AuditEvent extends JsonObject {
  readonly kind: "tool.exec" | "model.turn" | "run.phase" | "user.input" | "node.pass" | "log.repaired";
}

/** Is told of an event of a log and the number of its line, from 1. Must not throw. */
export type AuditObserver = (line: JsonObject, seq: number) => void;

/**
 * The audit log of a run, `execution.jsonl` (contracts §11).
 *
 * L1. One event, one physical line; lines are appended and fsynced, after what they tell of, and never rewritten.
 * L2. Each line's `prev` is the SHA-256 of the line before it, so an edit or a removal shows.
 * L3. An event is written once: the same `identity` again adds nothing.
 * L4. A line that a crash tore is ended and followed by a `log.repaired` event, at the latest before the next event:
 *     the repair may be cut short as well.
 */
export class AuditLog {
  private readonly log: AppendLog;
  private readonly seen = new Set<string>();
  private readonly sum = new AuditSum();
  private lines = 0;
  private last = CHAIN_START;
  /** The last line is no event, and no repair has been noted after it. */
  private isUnmarked = false;

  private readonly onRecorded: AuditObserver | undefined;

  /** `onRecorded` is told of each event that this process appends, once it is written. */
  constructor(path: string, lockFile: string, owner: HeldLock, onRecorded?: AuditObserver) {
    this.onRecorded = onRecorded;
    const toEntry = (line: Buffer): JsonObject => {
      const event = parseLine(line);
      return { sha256: sha256(line), ...(event === undefined ? {} : { event: summedFields(event) }) };
    };
    const onEntry = (entry: JsonObject | undefined): void => {
      const { sha256: hash, event } = entry as { sha256: string; event?: JsonObject }; // made by `toEntry`
      this.lines += 1;
      this.last = hash;
      this.isUnmarked = event === undefined;
      if (event === undefined) return;
      this.seen.add(identityOf(event));
      this.sum.add(event);
    };
    this.log = new AppendLog(path, lockFile, { toEntry, onEntry }, { owner, tellsOfOthers: true });
  }

  fence(): Promise<void> {
    return this.log.fence();
  }

  /** The chain's head as it is now. */
  async head(): Promise<AuditHead> {
    await this.log.refresh();
    return { lines: this.lines, sha256: this.last };
  }

  /** Whether it has so many lines. Before it is said to have fewer it is read under its lock: a file system of several hosts may show an older one. */
  async holds(lines: number): Promise<boolean> {
    if (this.lines < lines) await this.log.refresh();
    if (this.lines < lines) await this.log.append(() => []);
    return this.lines >= lines;
  }

  /** What the events come to. */
  async totals(): Promise<AuditTotals> {
    await this.log.refresh();
    return this.sum.totals;
  }

  /** Appends an event unless it is there; returns the chain's head afterwards. */
  async record(event: AuditEvent, now: Date): Promise<AuditHead> {
    let written: readonly { readonly line: JsonObject; readonly seq: number }[] = [];
    await this.log.append((torn) => {
      const isRepair = torn || this.isUnmarked;
      const events: AuditEvent[] = isRepair ? [{ kind: "log.repaired", id: String(this.lines) }] : [];
      if (!this.seen.has(identityOf(event))) events.push(event);
      let prev = this.last;
      const lines = events.map((item) => {
        const line = { ts: now.toISOString(), ...item, prev };
        prev = sha256(toLine(line));
        return line;
      });
      written = lines.map((line, index) => ({ line, seq: this.lines + index + 1 }));
      return lines;
    });
    failpoint("audit.recorded");
    for (const { line, seq } of written) this.onRecorded?.(line, seq);
    return { lines: this.lines, sha256: this.last };
  }
}

function identityOf(event: JsonObject): string {
  const id = event["toolCallId"] ?? event["id"];
  const { kind } = event;
  return `${typeof kind === "string" ? kind : JSON.stringify(kind)} ${typeof id === "string" ? id : JSON.stringify(id)}`;
}
