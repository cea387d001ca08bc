import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { z } from "zod";
import { RUN_PHASES, type RunPhase } from "../../core/run/phase.js";
import { isRunId, workflowIdOf } from "../../core/run/run-id.js";
import { replaceByCopy } from "../disk/append-log.js";
import { type HeldLock, NO_LOCK, withFileLock } from "../disk/fenced-lock.js";
import { LineFile } from "../disk/line-file.js";
import { readOwnText, standsThere } from "../disk/own-file.js";
import { readStatusNow } from "./status-file.js";

/** Where a bundle run finds its files. Host paths: for the service alone, never for a model. */
const bundleSettingsSchema = z.object({
  bundleRoot: z.string(),
  coreRoot: z.string().optional(),
  /** Variable form: `{bundle-root}/workflows/intake/workflow.yaml`. */
  workflowPath: z.string(),
  sessionId: z.string(),
  outputRoot: z.string(),
  agentFile: z.string().optional(),
});
export type BundleSettings = z.infer<typeof bundleSettingsSchema>;

const runMetadataSchema = z.object({
  runId: z.string(),
  /** The Temporal workflow that the run belongs to; absent means `run-<runId>`. */
  workflowId: z.string().optional(),
  projectId: z.string(),
  packageId: z.string(),
  workflowRef: z.string(),
  activeAgentId: z.string(),
  phase: z.enum(RUN_PHASES),
  createdAt: z.string(),
  lastUpdatedAt: z.string(),
  /** Present for a fork: the run it is forked from, and after which of its node visits; 0 is the beginning. */
  forkedFrom: z.object({ runId: z.string(), visit: z.int().min(0) }).optional(),
  /** Present for a bundle run (contracts §13). */
  bundle: bundleSettingsSchema.optional(),
});

/** What the index says of a run (contracts §4). Times are ISO, UTC. */
export type RunMetadata = z.infer<typeof runMetadataSchema>;

/** The Temporal workflow that a run belongs to: no other one may work on it. */
export function workflowIdOfRun({ runId, workflowId }: Pick<RunMetadata, "runId" | "workflowId">): string {
  return workflowId ?? workflowIdOf(runId);
}

/** A run begins, ends or goes on after its end. */
const changeSchema = z.object({ runId: z.string(), phase: z.enum(RUN_PHASES), lastUpdatedAt: z.string() });
/** A run is taken out again: its creation has failed. */
const removalSchema = z.object({ runId: z.string(), removed: z.literal(true) });

type Change = z.infer<typeof changeSchema>;

/** The index is there, but is not one: nothing may be concluded from what it does not list. */
export class DamagedIndex extends Error {
  readonly path: string;

  constructor(path: string, cause: unknown) {
    super(
      `The index of the project's runs (${basename(path)}) cannot be read: restore it. It is ${path}; without a backup, move it away: its runs are no longer listed then, and their folders stay.`,
      { cause },
    );
    this.path = path;
  }
}

/** How many statuses of runs that are not over are read before others get a turn. */
const STATUSES_AT_ONCE = 200;

/**
 * `runs.jsonl` of one project: a line for each run when it is made, oldest first, and a short one when it begins and when it
 * ends. What changes in between is in the run's own `status.json`, so that a change costs the same however many runs there are.
 *
 * R1. Lines are appended under a lock (`line-file.ts`) and never changed: processes racing lose nothing.
 * R2. Each process reads every line once.
 * R3. A run that the index does not call over stands where its status says, if it has one.
 * R4. The index of versions before, `runsIndex.json`, counts for runs that have no line. The first write takes it over.
 */
export class RunIndex {
  readonly path: string;
  private readonly dir: string;
  private readonly oldPath: string;
  private readonly lockFile: string;
  private readonly file: LineFile;
  private readonly runs = new Map<string, RunMetadata>();

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
      if (!isOver(run.phase) && (statuses += 1) % STATUSES_AT_ONCE === 0) await pause();
      runs.push(this.asItStands(run));
    }
    return runs;
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

  /** Takes a run out again, if it is listed. */
  async remove(runId: string): Promise<void> {
    await this.append(() => (this.runs.has(runId) ? [{ runId, removed: true }] : []));
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
      (standing(known.phase) !== standing(phase) || (isOver(phase) && known.phase !== phase));
    if (!isNews((await this.listed()).get(runId))) return;
    await this.append(() => (isNews(this.runs.get(runId)) ? [change(runId, phase, now)] : []), owner);
  }

  private async append(
    decide: () => readonly (RunMetadata | Change | z.infer<typeof removalSchema>)[],
    owner: HeldLock = NO_LOCK,
  ): Promise<void> {
    await withFileLock(
      this.lockFile,
      async (lock) => {
        this.refresh();
        const old = (await this.readOld()).filter(({ runId }) => !this.runs.has(runId));
        for (const run of old) this.runs.set(run.runId, run);
        const lines = [...old, ...decide()];
        owner.assertHeld();
        if (lines.length > 0) {
          await this.file.append(lines.map((line) => `${JSON.stringify(line)}\n`).join(""), lock);
          this.refresh();
        }
        lock.assertHeld();
        if (standsThere(this.oldPath)) rmSync(this.oldPath);
      },
      (lock) => replaceByCopy(this.path, lock),
    );
  }

  private async listed(): Promise<ReadonlyMap<string, RunMetadata>> {
    const old = await this.readOld(); // before the lines: a run that is taken over meanwhile is in one of them
    this.refresh();
    const unknown = old.filter(({ runId }) => !this.runs.has(runId));
    if (unknown.length === 0) return this.runs;
    return new Map([...this.runs, ...unknown.map((run) => [run.runId, run] as const)]);
  }

  private refresh(): void {
    try {
      this.file.readNew(
        () => this.runs.clear(),
        (lines) => {
          for (const line of linesIn(lines)) this.take(line);
        },
      );
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT" || code === "ENOTDIR") return;
      this.file.forget();
      throw new DamagedIndex(this.path, error);
    }
  }

  private take(line: unknown): void {
    if (has(line, "createdAt")) {
      const run = runMetadataSchema.parse(line);
      if (!this.runs.has(run.runId)) this.runs.set(run.runId, run);
    } else if (has(line, "removed")) this.runs.delete(removalSchema.parse(line).runId);
    else {
      const { runId, ...news } = changeSchema.parse(line);
      const run = this.runs.get(runId);
      if (run !== undefined) this.runs.set(runId, { ...run, ...news });
    }
  }

  private async readOld(): Promise<readonly RunMetadata[]> {
    try {
      if (!standsThere(this.oldPath)) return [];
      return z.array(runMetadataSchema).parse(JSON.parse(await readOwnText(this.oldPath)));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT" || code === "ENOTDIR") return []; // taken over just now
      throw new DamagedIndex(this.oldPath, error);
    }
  }

  private asItStands(run: RunMetadata): RunMetadata {
    if (isOver(run.phase) || !isRunId(run.runId)) return run;
    const status = readStatusNow(join(this.dir, "runs", run.runId, "status.json"));
    return status === undefined ? run : { ...run, ...status };
  }
}

function has(line: unknown, field: string): boolean {
  return typeof line === "object" && line !== null && field in line;
}

/** What lines of JSON hold: all by one call of the parser, which is much quicker than one for each. */
function linesIn(text: string): readonly unknown[] {
  const lines = text.slice(0, -1).split("\n");
  try {
    const values: unknown = JSON.parse(`[${lines.join(",")}]`);
    if (Array.isArray(values) && values.length === lines.length) return values;
  } catch {
    // one of them says why
  }
  return lines.map((line): unknown => JSON.parse(line));
}

function change(runId: string, phase: RunPhase, now: Date): Change {
  return { runId, phase, lastUpdatedAt: now.toISOString() };
}

/** What the index tells apart: the rest is in a run's status. */
function standing(phase: RunPhase): "idle" | "begun" | "over" {
  if (phase === "idle") return "idle";
  return isOver(phase) ? "over" : "begun";
}

function isOver(phase: RunPhase): boolean {
  return phase === "completed" || phase === "failed";
}
