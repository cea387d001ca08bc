import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { z } from "zod";
import { type RunPhase, isOverPhase } from "../../core/run/phase.js";
import { isRunId } from "../../core/run/run-id.js";
import { isFull, systemCode, unreadNow } from "../../core/system-code.js";
import { replaceByCopy } from "../disk/append-log.js";
import { writeFileAtomic } from "../disk/atomic-file.js";
import { type HeldLock, NO_LOCK, withFileLock } from "../disk/fenced-lock.js";
import { LineFile } from "../disk/line-file.js";
import { NotOurFile, readOwnText, standsThere } from "../disk/own-file.js";
import {
  type Change,
  type Line,
  type PrunedRun,
  besideOf,
  changeSchema,
  has,
  isPlainChange,
  isPlainRun,
  linesIn,
  pruningSchema,
  removalSchema,
  textOf,
  withBeside,
} from "./index-lines.js";
import { type RunMetadata, runMetadataSchema, workflowIdOfRun } from "./run-metadata.js";
import { type RunPlace, readPlaceNow, readStatusNow } from "./status-file.js";

/** The index is there, but is not one: nothing may be concluded from what it does not list. */
export class DamagedIndex extends Error {
  readonly path: string;

  constructor(path: string, cause: unknown) {
    const code = cause instanceof NotOurFile ? undefined : systemCode(cause);
    const sentence = `The index of the project's runs (${basename(path)}) cannot be read: restore it. It is ${path}; if a later version has written it, use that one. Without a backup, move it away: its runs are no longer listed then, and their folders stay.`;
    super(code === undefined ? sentence : unreadNow(path, code), { cause });
    this.path = path;
  }
}

/** How many of the runs that were pruned last are known to have been there. */
const MAX_PRUNED = 10_000;
/** How many statuses of runs that are not over are read before others get a turn. */
const STATUSES_AT_ONCE = 200;

/**
 * `runs.jsonl` of one project: a line for each run when it is made, oldest first, and a short one when it begins and when it
 * ends. What changes in between is in the run's own `status.json`, so that a change costs the same however many runs there are.
 *
 * R1. Lines are appended under a lock (`line-file.ts`) and never changed: processes racing lose nothing.
 * R2. Each process reads every line once.
 * R3. A run that the index does not call over stands where its status says, if it has one.
 * R4. Only `compactIfRoom` puts another file in its place: with the runs that are there, and which were pruned last.
 * R5. The index of versions before, `runsIndex.json`, counts for runs that have no line. The first write takes it over.
 */
export class RunIndex {
  readonly path: string;
  private readonly dir: string;
  private readonly oldPath: string;
  private readonly lockFile: string;
  private readonly file: LineFile;
  private lines = 0;
  private readonly runs = new Map<string, RunMetadata>();
  /** What a later version has said of a run beside: it stays where the lines are written anew, and is told to nobody. */
  private readonly beside = new Map<string, object>();
  /** The runs that are known to have been there. */
  private readonly pruned = new Map<string, PrunedRun>();

  constructor(projectDir: string) {
    this.dir = projectDir;
    this.path = join(projectDir, "runs.jsonl");
    this.oldPath = join(projectDir, "runsIndex.json");
    this.lockFile = join(projectDir, "runsIndex.lock");
    this.file = new LineFile(this.path);
  }

  /** All runs of the project. Throws `DamagedIndex` when the index is there but cannot be read. */
  async list(): Promise<readonly RunMetadata[]> {
    const listed = await this.listed();
    const runs: RunMetadata[] = [];
    let statuses = 0;
    for (const run of listed.values()) {
      if (!isOverPhase(run.phase) && (statuses += 1) % STATUSES_AT_ONCE === 0) await pause();
      runs.push(this.asItStands(run));
    }
    return runs;
  }

  /** All runs of the project as the index has them: how those stand that are not over, `asItStands` says. Throws `DamagedIndex`. */
  async listUnread(): Promise<readonly RunMetadata[]> {
    return [...(await this.listed()).values()];
  }

  /** How many runs the project has. Throws `DamagedIndex`. */
  async count(): Promise<number> {
    return (await this.listed()).size;
  }

  async find(runId: string): Promise<RunMetadata | undefined> {
    const run = (await this.listed()).get(runId);
    return run && this.asItStands(run);
  }

  /** The run that belongs to a workflow, the newest where there are several. */
  async findByWorkflow(workflowId: string): Promise<RunMetadata | undefined> {
    const run = [...(await this.listed()).values()].findLast(
      (known) => workflowIdOfRun(known) === workflowId,
    );
    return run && this.asItStands(run);
  }

  /** Adds a run; one that is listed already stays as it is. */
  async add(run: RunMetadata): Promise<void> {
    await this.append(() => (this.runs.has(run.runId) ? [] : [run]));
  }

  /** Makes durable what was found in it: who wrote it may have died first. */
  sync(): Promise<void> {
    return this.file.sync();
  }

  /** Takes a run out again, if it is listed. */
  async remove(runId: string): Promise<void> {
    await this.append(() => (this.runs.has(runId) ? [{ runId, removed: true }] : []));
  }

  /** When a run was pruned, ISO; undefined for one that was not, or so long ago that nobody knows. */
  async prunedAt(runId: string): Promise<string | undefined> {
    await this.listed();
    return this.pruned.get(runId)?.pruned;
  }

  /** The ids of the runs, and those that are known to have been pruned. */
  async ids(): Promise<{
    readonly listed: ReadonlySet<string>;
    readonly pruned: ReadonlyMap<string, PrunedRun>;
  }> {
    return { listed: new Set((await this.listed()).keys()), pruned: this.pruned };
  }

  /** Takes a run out for good that is over or `isClosed`; returns whether it did. Its files are no run's any more. */
  async prune(runId: string, now: Date, { isClosed }: { readonly isClosed: boolean }): Promise<boolean> {
    let isOut = false;
    await this.append(() => {
      const run = this.runs.get(runId);
      isOut = run !== undefined && (isClosed || isOverPhase(this.asItStands(run).phase));
      const workflow = run?.workflowId === undefined ? {} : { workflowId: run.workflowId };
      return isOut ? [{ runId, pruned: now.toISOString(), ...workflow }] : [];
    });
    return isOut;
  }

  /**
   * Leaves the lines out that say nothing any more, where there are as many as runs. On a full disk they stay until there is room: what
   * makes room compacts as well.
   */
  async compactIfRoom(): Promise<void> {
    try {
      await this.compact();
    } catch (error) {
      if (!isFull(systemCode(error))) throw error;
    }
  }

  private async compact(): Promise<void> {
    await this.append(() => []);
    if (this.lines < 2 * this.runs.size + this.pruned.size || !standsThere(this.path)) return;
    await this.exclusively(async (lock) => {
      this.refresh();
      const pruned = [...this.pruned.values()].slice(-MAX_PRUNED);
      const lines = [...pruned, ...this.runs.values()];
      const whole = lines.map((line) => withBeside(line, this.beside.get(line.runId)));
      await writeFileAtomic(this.path, textOf(whole), lock);
    });
  }

  /** Only a run that nobody has begun yet gets the phase `running` by this. */
  async setBegun(runId: string, now: Date): Promise<void> {
    if ((await this.listed()).get(runId)?.phase !== "idle") return;
    await this.append(() => (this.runs.get(runId)?.phase === "idle" ? [change(runId, "running", now)] : []));
  }

  /**
   * Notes that a run has begun or is over; what else there is to say of it says its status, which is written before. `owner` is the
   * lock under which the phase changes: who has lost it sets nothing.
   */
  async setPhase(runId: string, phase: RunPhase, now: Date, owner: HeldLock = NO_LOCK): Promise<void> {
    const isNews = (known: RunMetadata | undefined): boolean =>
      known !== undefined &&
      (standing(known.phase) !== standing(phase) || (isOverPhase(phase) && known.phase !== phase));
    if (!isNews((await this.listed()).get(runId))) return;
    await this.append(() => (isNews(this.runs.get(runId)) ? [change(runId, phase, now)] : []), owner);
  }

  private async append(decide: () => readonly Line[], owner: HeldLock = NO_LOCK): Promise<void> {
    await this.exclusively(async (lock) => {
      this.refresh();
      const old = (await this.readOld()).filter((run) => this.isUnknown(run));
      for (const run of old) this.runs.set(run.runId, run);
      const lines = [...old, ...decide()];
      owner.assertHeld();
      if (lines.length > 0) {
        await this.file.append(textOf(lines), lock);
        this.refresh();
      }
      lock.assertHeld();
      if (standsThere(this.oldPath)) rmSync(this.oldPath);
    });
  }

  private exclusively(action: (lock: HeldLock) => Promise<void>): Promise<void> {
    return withFileLock(this.lockFile, action, (lock) => replaceByCopy(this.path, lock));
  }

  private isUnknown({ runId }: RunMetadata): boolean {
    return !this.runs.has(runId) && !this.pruned.has(runId);
  }

  private async listed(): Promise<ReadonlyMap<string, RunMetadata>> {
    const old = await this.readOld(); // before the lines: a run that is taken over meanwhile is in one of them
    this.refresh();
    const unknown = old.filter((run) => this.isUnknown(run));
    if (unknown.length === 0) return this.runs;
    return new Map([...this.runs, ...unknown.map((run) => [run.runId, run] as const)]);
  }

  private refresh(): void {
    try {
      this.file.readNew(
        () => {
          this.runs.clear();
          this.pruned.clear();
          this.beside.clear();
          this.lines = 0;
        },
        (lines) => {
          for (const line of linesIn(lines)) this.take(line);
        },
      );
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT" || code === "ENOTDIR") return;
      this.file.forget();
      throw new DamagedIndex(this.path, error);
    }
  }

  private take(line: unknown): void {
    this.lines += 1;
    if (has(line, "createdAt")) {
      const isPlain = isPlainRun(line);
      const run = isPlain ? line : runMetadataSchema.parse(line);
      if (this.runs.has(run.runId)) return;
      this.runs.set(run.runId, run);
      if (!isPlain) this.keepBeside(line, run);
    } else if (has(line, "removed")) {
      const { runId } = removalSchema.parse(line);
      this.runs.delete(runId);
      this.beside.delete(runId);
    } else if (has(line, "pruned")) {
      const pruned = pruningSchema.parse(line);
      this.runs.delete(pruned.runId);
      this.beside.delete(pruned.runId);
      this.pruned.set(pruned.runId, pruned);
      this.keepBeside(line, pruned);
    } else {
      const isPlain = isPlainChange(line);
      const { runId, phase, lastUpdatedAt } = isPlain ? line : changeSchema.parse(line);
      const run = this.runs.get(runId);
      if (run === undefined) return;
      const changed = { ...run, phase, lastUpdatedAt };
      this.runs.set(runId, changed);
      if (!isPlain) this.keepBeside(line, changed);
    }
  }

  /** `line` is an object: a schema has taken it. */
  private keepBeside(line: unknown, known: PrunedRun | RunMetadata): void {
    const others = besideOf(line as object, known);
    if (others !== undefined) this.beside.set(known.runId, { ...this.beside.get(known.runId), ...others });
  }

  private async readOld(): Promise<readonly RunMetadata[]> {
    try {
      if (!standsThere(this.oldPath)) return [];
      return z.array(runMetadataSchema).parse(JSON.parse(await readOwnText(this.oldPath)));
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT" || code === "ENOTDIR") return []; // taken over just now
      throw new DamagedIndex(this.oldPath, error);
    }
  }

  /** A run of this index, by its status where it is not over. */
  asItStands(run: RunMetadata): RunMetadata {
    if (isOverPhase(run.phase) || !isRunId(run.runId)) return run;
    const status = readStatusNow(this.statusPath(run.runId));
    return status === undefined ? run : { ...run, ...status };
  }

  /** Where a run stood last, over or not; undefined where its status does not say. */
  placeOf({ runId }: RunMetadata): RunPlace | undefined {
    return isRunId(runId) ? readPlaceNow(this.statusPath(runId)) : undefined;
  }

  private statusPath(runId: string): string {
    return join(this.dir, "runs", runId, "status.json");
  }
}

function change(runId: string, phase: RunPhase, now: Date): Change {
  return { runId, phase, lastUpdatedAt: now.toISOString() };
}

/** What the index tells apart: the rest is in a run's status. */
function standing(phase: RunPhase): "idle" | "begun" | "over" {
  if (phase === "idle") return "idle";
  return isOverPhase(phase) ? "over" : "begun";
}
