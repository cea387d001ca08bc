import { join } from "node:path";
import { z } from "zod";
import { RUN_PHASES, type RunPhase } from "../../core/run/phase.js";
import { workflowIdOf } from "../../core/run/run-id.js";
import { removeTemporaries, writeFileAtomic } from "../disk/atomic-file.js";
import { type HeldLock, NO_LOCK, withFileLock } from "../disk/fenced-lock.js";
import { readOwnText } from "../disk/own-file.js";

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
  /** Present for the run of a subworkflow: the run that has started it. */
  parentRunId: z.string().exactOptional(),
  /** Present for a bundle run (contracts §13). */
  bundle: bundleSettingsSchema.optional(),
});

/** What the index says of a run (contracts §4). Times are ISO, UTC. */
export type RunMetadata = z.infer<typeof runMetadataSchema>;

/** The Temporal workflow that a run belongs to: no other one may work on it. */
export function workflowIdOfRun({ runId, workflowId }: Pick<RunMetadata, "runId" | "workflowId">): string {
  return workflowId ?? workflowIdOf(runId);
}

/** The index is there, but is not one: nothing may be concluded from what it does not list. */
export class DamagedIndex extends Error {}

/**
 * `runsIndex.json` of one project: run metadata, oldest first. Changed under a lock and replaced as a whole,
 * so that processes racing lose nothing.
 */
export class RunIndex {
  private readonly path: string;
  private readonly lockFile: string;

  constructor(projectDir: string) {
    this.path = join(projectDir, "runsIndex.json");
    this.lockFile = join(projectDir, "runsIndex.lock");
  }

  /** All runs of the project. Throws `DamagedIndex` when the index is there but cannot be read. */
  async list(): Promise<readonly RunMetadata[]> {
    try {
      return z.array(runMetadataSchema).parse(JSON.parse(await readOwnText(this.path)));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT" || code === "ENOTDIR") return [];
      const sentence = `The index of the project's runs (runsIndex.json) cannot be read: restore it. It is ${this.path}; without a backup, move it away: its runs are no longer listed then, and their folders stay.`;
      throw new DamagedIndex(sentence, { cause: error });
    }
  }

  async find(runId: string): Promise<RunMetadata | undefined> {
    return (await this.list()).find((run) => run.runId === runId);
  }

  /** Adds a run; one that is listed already stays as it is. */
  async add(run: RunMetadata): Promise<void> {
    await this.change((runs) => (runs.some((known) => known.runId === run.runId) ? runs : [...runs, run]));
  }

  /** Takes a run out again, if it is listed. */
  async remove(runId: string): Promise<void> {
    await this.change((runs) =>
      runs.some((run) => run.runId === runId) ? runs.filter((run) => run.runId !== runId) : runs,
    );
  }

  /** Only a run that nobody has begun yet gets the phase `running` by this. */
  async setBegun(runId: string, now: Date): Promise<void> {
    await this.change((runs) =>
      runs.some((run) => run.runId === runId && run.phase === "idle")
        ? runs.map((run) =>
            run.runId === runId ? { ...run, phase: "running", lastUpdatedAt: now.toISOString() } : run,
          )
        : runs,
    );
  }

  /** `owner` is the lock under which the phase changes: who has lost it sets nothing. */
  async setPhase(runId: string, phase: RunPhase, now: Date, owner: HeldLock = NO_LOCK): Promise<void> {
    await this.change(
      (runs) =>
        runs.map((run) => (run.runId === runId ? { ...run, phase, lastUpdatedAt: now.toISOString() } : run)),
      owner,
    );
  }

  private async change(
    next: (runs: readonly RunMetadata[]) => readonly RunMetadata[],
    owner: HeldLock = NO_LOCK,
  ): Promise<void> {
    await withFileLock(
      this.lockFile,
      async (lock) => {
        const before = await this.list();
        const after = next(before);
        owner.assertHeld();
        if (after !== before)
          await writeFileAtomic(this.path, `${JSON.stringify(after, undefined, 2)}\n`, lock);
      },
      () => removeTemporaries(this.path),
    );
  }
}
