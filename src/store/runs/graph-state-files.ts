import { dirname, join } from "node:path";
import { z } from "zod";
import type { HeldGraphState } from "../../core/graph-state/held-state.js";
import { type StateSnapshotState, StateSnapshotStateSchema } from "../../core/graph-state/schemas.js";
import type { JsonObject } from "../../core/json.js";
import { AppendLog, parseLine } from "../disk/append-log.js";
import type { LinePosition } from "../disk/line-index.js";
import { removeTemporaries, syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { FencedLock, type HeldLock } from "../disk/fenced-lock.js";
import { readOwnText } from "../disk/own-file.js";
import { systemCode } from "../../core/system-code.js";

const heldSchema = z.object({
  state: StateSnapshotStateSchema,
  change: z.int().min(0),
  initial: StateSnapshotStateSchema,
});

/** A file of the graph state that cannot be understood: trying again does not help. */
export class DamagedGraphState extends Error {}

const snapshotLineSchema = z.object({
  visit: z.int().min(1),
  nodeId: z.string(),
  timestamp: z.string(),
  documentSha256: z.string(),
  state: StateSnapshotStateSchema,
});

/** The state after one visit of a node, and which version of the state document belongs to it. */
export type KeptSnapshot = z.infer<typeof snapshotLineSchema>;

/**
 * The graph state of a run that carries a story: the current one, and a snapshot for each node boundary, so that a
 * run can be looked at, restored and forked without Temporal's history.
 */
export class GraphStateFiles {
  private readonly path: string;
  private readonly logPath: string;
  private readonly lock: FencedLock;
  private readonly log: AppendLog;
  private readonly positions = new Map<number, LinePosition>();

  constructor(dir: string, owner: HeldLock) {
    this.path = join(dir, "graph-state.json");
    this.lock = new FencedLock(join(dir, "graph-state.lock"), () => removeTemporaries(this.path), owner);
    this.logPath = join(dir, "graph-state.jsonl");
    const toEntry = (line: Buffer): JsonObject | undefined => {
      const visit = parseLine(line)?.["visit"];
      return typeof visit === "number" ? { visit } : undefined;
    };
    const onEntry = (entry: JsonObject | undefined, position: LinePosition): void => {
      const visit = entry?.["visit"];
      if (typeof visit === "number" && !this.positions.has(visit)) this.positions.set(visit, position);
    };
    this.log = new AppendLog(
      this.logPath,
      join(dir, "graph-state-log.lock"),
      { toEntry, onEntry },
      { owner },
    );
  }

  async fence(): Promise<void> {
    await this.log.fence();
    await this.lock.fence();
  }

  /** The state as it was kept last; undefined for a run without a story. */
  async current(): Promise<(HeldGraphState & { readonly initial: StateSnapshotState }) | undefined> {
    try {
      return heldSchema.parse(JSON.parse(await readOwnText(this.path)));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return undefined;
      if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
      throw new DamagedGraphState(
        `${this.path} is damaged. Restore it from a backup; graph-state.jsonl beside it has the states.`,
        {
          cause: error,
        },
      );
    }
  }

  /**
   * Keeps a state unless a later one is known, and the snapshot of a visit's end unless there is one. The first state
   * kept is what the run began with.
   */
  async keep(held: HeldGraphState, boundary?: Omit<KeptSnapshot, "state">): Promise<void> {
    const { state, change } = held;
    if (boundary !== undefined) {
      const { visit, nodeId, timestamp, documentSha256 } = boundary;
      const line = { visit, nodeId, timestamp, documentSha256, state } as unknown as JsonObject; // plain JSON
      await this.log.append(() => (this.positions.has(visit) ? [] : [line]));
    }
    await this.lock.hold(async (lock) => {
      const known = await this.current();
      if (known !== undefined && known.change >= change) {
        return syncDirectory(dirname(this.path)); // who wrote it may have died first
      }
      const initial = known?.initial ?? state;
      await writeFileAtomic(this.path, `${JSON.stringify({ change, state, initial })}\n`, lock);
    });
  }

  /** The snapshots of all visits that ended, in order: of those up to a visit, or the last ones, where it is asked for. */
  async snapshots({ upTo = Number.POSITIVE_INFINITY, last = Number.POSITIVE_INFINITY } = {}): Promise<
    readonly KeptSnapshot[]
  > {
    await this.log.refresh();
    const kept = [...this.positions].filter(([visit]) => visit <= upTo).sort(([a], [b]) => a - b);
    const wanted = kept.slice(Math.max(0, kept.length - last)).map(([, position]) => position);
    return this.log.readAt(wanted).map((line) => this.toSnapshot(line));
  }

  private toSnapshot(line: JsonObject): KeptSnapshot {
    const parsed = snapshotLineSchema.safeParse(line);
    if (parsed.success) return parsed.data;
    const place = `the line of visit ${JSON.stringify(line["visit"])} in ${this.logPath}`;
    throw new DamagedGraphState(`${place} is damaged. Restore it from a backup, or remove the line.`, {
      cause: parsed.error,
    });
  }
}
