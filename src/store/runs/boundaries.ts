import { z } from "zod";
import type { JsonObject } from "../../core/json.js";
import { AppendLog, type LinePosition, parseLine } from "../disk/append-log.js";
import type { HeldLock } from "../disk/fenced-lock.js";
import { sha256 } from "../disk/sha256.js";

const boundarySchema = z.object({
  /** Counts node visits from 1; 0 is the beginning. */
  visit: z.int().min(0),
  /** The node that was left; empty at the beginning. */
  nodeId: z.string(),
  /** The node that the run stood at then. */
  next: z.string(),
  timestamp: z.string(),
  documentSha256: z.string(),
  /** How many calls of the run were recorded by then. */
  calls: z.int().min(0),
  /** The state document, as it was. */
  document: z.string(),
});

/** A node boundary: what a run can be forked from. */
export type Boundary = z.infer<typeof boundarySchema>;

/** `boundaries.jsonl` of a run: one line for its beginning and one for each node visit that ended. */
export class Boundaries {
  private readonly log: AppendLog;
  private readonly positions = new Map<number, LinePosition>();

  constructor(path: string, lockFile: string, owner?: HeldLock) {
    const onLine = (line: Buffer, position: LinePosition): void => {
      const visit = parseLine(line)?.["visit"];
      if (typeof visit === "number" && !this.positions.has(visit)) this.positions.set(visit, position);
    };
    this.log = new AppendLog(path, lockFile, onLine, { owner });
  }

  fence(): Promise<void> {
    return this.log.fence();
  }

  /** Keeps a boundary, once. `document` is UTF-8. */
  async keep(boundary: Omit<Boundary, "document" | "documentSha256">, document: Uint8Array): Promise<void> {
    const text = Buffer.from(document).toString("utf8");
    const line: JsonObject = { ...boundary, documentSha256: sha256(document), document: text };
    await this.log.append(() => (this.positions.has(boundary.visit) ? [] : [line]));
  }

  /** Keeps where the run begins, once. */
  keepBeginning(
    at: { readonly next: string; readonly timestamp: string },
    document: Uint8Array,
  ): Promise<void> {
    return this.keep({ visit: 0, nodeId: "", calls: 0, ...at }, document);
  }

  /** All of them, in order. */
  async all(): Promise<readonly Boundary[]> {
    await this.log.refresh();
    const lines = this.log.readAt([...this.positions.values()]);
    return lines.map((line) => boundarySchema.parse(line)).sort((a, b) => a.visit - b.visit);
  }
}
