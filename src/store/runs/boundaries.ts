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
});

/** A node boundary: what a run can be forked from. */
export type Boundary = z.infer<typeof boundarySchema>;

/** A boundary of which no line can be read: trying again does not help. */
export class DamagedBoundary extends Error {}

/**
 * `boundaries.jsonl` of a run: one line for its beginning and one for each node visit that ended, with the state document as
 * it was. Documents may be large and visits many: an index has everything but the documents, which are read one at a time.
 */
export class Boundaries {
  private readonly path: string;
  private readonly log: AppendLog;
  private readonly known = new Map<
    number,
    { readonly boundary: Boundary; readonly position: LinePosition }
  >();

  constructor(path: string, lockFile: string, owner?: HeldLock) {
    this.path = path;
    const toEntry = (line: Buffer): JsonObject | undefined => {
      const { document: _, ...boundary } = parseLine(line) ?? {};
      return boundarySchema.safeParse(boundary).data;
    };
    const onEntry = (entry: JsonObject | undefined, position: LinePosition): void => {
      const { data: boundary } = boundarySchema.safeParse(entry);
      if (boundary === undefined || this.known.has(boundary.visit)) return;
      this.known.set(boundary.visit, { boundary, position });
    };
    this.log = new AppendLog(path, lockFile, { toEntry, onEntry }, { owner });
  }

  fence(): Promise<void> {
    return this.log.fence();
  }

  /** Keeps a boundary, once. `document` is UTF-8. */
  async keep(boundary: Omit<Boundary, "documentSha256">, document: Uint8Array): Promise<void> {
    const text = Buffer.from(document).toString("utf8");
    const line: JsonObject = { ...boundary, documentSha256: sha256(document), document: text };
    await this.log.append(() => (this.known.has(boundary.visit) ? [] : [line]));
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
    return [...this.known.values()].map(({ boundary }) => boundary).sort((a, b) => a.visit - b.visit);
  }

  /** The state document as it was at a boundary that `all` has told of. Throws `DamagedBoundary`. */
  documentAt(visit: number): Uint8Array {
    const known = this.known.get(visit);
    if (known !== undefined) {
      const document = this.log.readAt([known.position])[0]?.["document"];
      if (typeof document === "string") {
        const bytes = Buffer.from(document);
        if (sha256(bytes) === known.boundary.documentSha256) return bytes;
      }
    }
    throw new DamagedBoundary(
      `The line of visit ${visit} in ${this.path} is damaged. Restore the file from a backup.`,
    );
  }
}
