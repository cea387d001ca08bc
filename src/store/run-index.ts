import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "./atomic-file.js";
import { withFileLock } from "./file-lock.js";

const runMetadataSchema = z.object({
  runId: z.string(),
  projectId: z.string(),
  packageId: z.string(),
  workflowRef: z.string(),
  activeAgentId: z.string(),
  phase: z.enum(["idle", "running", "waiting-user", "completed", "failed"]),
  createdAt: z.string(),
  lastUpdatedAt: z.string(),
});

/** What the index says of a run (contracts §4). Times are ISO, UTC. */
export type RunMetadata = z.infer<typeof runMetadataSchema>;

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

  /** All runs of the project. Throws when the index is there but cannot be read. */
  async list(): Promise<readonly RunMetadata[]> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
    return z.array(runMetadataSchema).parse(JSON.parse(text));
  }

  async find(runId: string): Promise<RunMetadata | undefined> {
    return (await this.list()).find((run) => run.runId === runId);
  }

  /** Adds a run; one that is listed already stays as it is. */
  async add(run: RunMetadata): Promise<void> {
    await this.change((runs) => (runs.some((known) => known.runId === run.runId) ? runs : [...runs, run]));
  }

  async setPhase(runId: string, phase: RunMetadata["phase"], now: Date): Promise<void> {
    await this.change((runs) =>
      runs.map((run) => (run.runId === runId ? { ...run, phase, lastUpdatedAt: now.toISOString() } : run)),
    );
  }

  private async change(next: (runs: readonly RunMetadata[]) => readonly RunMetadata[]): Promise<void> {
    await withFileLock(this.lockFile, async () => {
      const before = await this.list();
      const after = next(before);
      if (after !== before) await writeFileAtomic(this.path, `${JSON.stringify(after, undefined, 2)}\n`);
    });
  }
}
