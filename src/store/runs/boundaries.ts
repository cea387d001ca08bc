import { z } from "zod";
import { defined } from "../../core/defined.js";
import type { JsonObject } from "../../core/json.js";
import { AppendLog, parseLine } from "../disk/append-log.js";
import type { LinePosition } from "../disk/line-index.js";
import type { HeldLock } from "../disk/fenced-lock.js";
import { sha256 } from "../disk/sha256.js";
import { editsBetween, withEdits } from "./document-edits.js";

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

/** Which boundary's document a line says the changes to; absent where it has the document as a whole. */
const changesSchema = z.object({ since: z.int().min(0).exactOptional() });
const editsSchema = z.array(z.object({ at: z.int().min(0), drop: z.int().min(0), text: z.string() }));

interface KeptBoundary {
  readonly boundary: Boundary;
  readonly since?: number;
  readonly position: LinePosition;
  /** How long the lines are from the last whole document to this one. */
  readonly bytesSinceWhole: number;
}

/** A boundary of which no line can be read: trying again does not help. */
export class DamagedBoundary extends Error {}

/**
 * `boundaries.jsonl` of a run: one line for its beginning and one for each node visit that ended, with the state document as
 * it was. Visits may be many: an index has everything but the documents, which are read when they are asked for.
 *
 * B1. A line has its document as a whole, or what has changed since the boundary before it. So a boundary costs what the visit has
 *     changed, and whoever reads a document reads a few times as much at most.
 * B2. Every document has its hash beside it. It is handed out to the byte or not at all.
 */
export class Boundaries {
  private readonly path: string;
  private readonly log: AppendLog;
  private readonly known = new Map<number, KeptBoundary>();
  /** The visits that are known, in the order of their lines. */
  private readonly visits: number[] = [];
  /** The document that was kept or read last. */
  private newest: { readonly visit: number; readonly text: string } | undefined;

  constructor(path: string, lockFile: string, owner: HeldLock) {
    this.path = path;
    const toEntry = (line: Buffer): JsonObject | undefined => {
      const parsed = parseLine(line);
      const { data: boundary } = boundarySchema.safeParse(parsed);
      const { data: changes } = changesSchema.safeParse(parsed);
      return boundary && { ...boundary, ...changes };
    };
    const onEntry = (entry: JsonObject | undefined, position: LinePosition): void => {
      const { data: boundary } = boundarySchema.safeParse(entry);
      if (boundary === undefined || this.known.has(boundary.visit)) return;
      const { since } = changesSchema.safeParse(entry).data ?? {};
      const before = since === undefined ? 0 : (this.known.get(since)?.bytesSinceWhole ?? 0);
      const bytesSinceWhole = since === undefined ? 0 : before + position.length;
      this.known.set(boundary.visit, { boundary, position, bytesSinceWhole, ...defined({ since }) });
      this.visits.push(boundary.visit);
    };
    // A line counts the calls that are recorded by then.
    this.log = new AppendLog(path, lockFile, { toEntry, onEntry }, { owner, tellsOfOthers: true });
  }

  fence(): Promise<void> {
    return this.log.fence();
  }

  /** Keeps a boundary, once. `document` is UTF-8. */
  async keep(boundary: Omit<Boundary, "documentSha256">, document: Uint8Array): Promise<void> {
    const text = Buffer.from(document).toString("utf8");
    const line = { ...boundary, documentSha256: sha256(document) };
    let isKept = false;
    await this.log.append(() => {
      if (this.known.has(boundary.visit)) return [];
      isKept = true;
      return [{ ...line, ...this.changesIn(text, document.length) }];
    });
    if (isKept && Buffer.from(text).equals(document)) this.newest = { visit: boundary.visit, text };
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
    return Buffer.from(this.textAt(visit));
  }

  private textAt(visit: number): string {
    if (this.newest?.visit === visit) return this.newest.text;
    const chain = this.chainTo(visit);
    const [whole, ...changes] = this.log.readAt(chain.map(({ position }) => position));
    let text = whole?.["document"];
    if (typeof text !== "string") throw this.damaged(visit);
    for (const line of changes) {
      const { data: edits } = editsSchema.safeParse(line["edits"]);
      if (edits === undefined) throw this.damaged(visit);
      text = withEdits(text, edits);
    }
    if (sha256(Buffer.from(text)) !== chain.at(-1)?.boundary.documentSha256) throw this.damaged(visit);
    this.newest = { visit, text };
    return text;
  }

  /** The lines from the last whole document before a boundary to its own. */
  private chainTo(visit: number): readonly KeptBoundary[] {
    const chain: KeptBoundary[] = [];
    for (let at: number | undefined = visit; at !== undefined;) {
      const kept = this.known.get(at);
      // Each line goes back to an earlier one: a damaged file leads in no circle.
      if (kept === undefined || (kept.since ?? -1) >= at) throw this.damaged(visit);
      chain.unshift(kept);
      at = kept.since;
    }
    return chain;
  }

  /** What is written of a document: what has changed since the last boundary, unless that would be long to read. */
  private changesIn(text: string, bytes: number): JsonObject {
    const whole = { document: text };
    const last = this.known.get(this.visits.at(-1) ?? -1);
    if (last === undefined || last.bytesSinceWhole >= bytes) return whole;
    try {
      const since = last.boundary.visit;
      const edits = editsBetween(this.textAt(since), text) as unknown as JsonObject[]; // plain data
      return JSON.stringify(edits).length < bytes ? { since, edits } : whole;
    } catch (error) {
      if (!(error instanceof DamagedBoundary)) throw error;
      return whole;
    }
  }

  private damaged(visit: number): DamagedBoundary {
    return new DamagedBoundary(
      `The line of visit ${visit} in ${this.path} is damaged, or one that it rests on. Restore the file from a backup.`,
    );
  }
}
