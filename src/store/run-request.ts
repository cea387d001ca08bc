import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { JsonObject } from "../core/json.js";
import { removeTemporaries, writeFileAtomic } from "./atomic-file.js";
import { withFileLock } from "./file-lock.js";

const requestSchema = z.object({ kind: z.enum(["graph", "bundle"]), input: z.record(z.string(), z.json()) });

/** What a run was started with: it can be started again should Temporal no longer know it. */
export type RunRequest = z.infer<typeof requestSchema>;

/** `run.json` of a run folder. */
export class RunRequestFile {
  private readonly path: string;
  private readonly lockFile: string;

  constructor(dir: string) {
    this.path = join(dir, "run.json");
    this.lockFile = join(dir, "request.lock");
  }

  /** Undefined where there is none, and where it cannot be understood. */
  async read(): Promise<RunRequest | undefined> {
    try {
      return requestSchema.parse(JSON.parse(await readFile(this.path, "utf8")));
    } catch {
      return undefined;
    }
  }

  /**
   * Keeps the first request of a run, and of each later one the limits, which a retry may change. A request that is not
   * newer than the one that is kept changes nothing: it may come late.
   */
  async keep(kind: RunRequest["kind"], input: JsonObject): Promise<void> {
    await withFileLock(
      this.lockFile,
      async (lock) => {
        const known = await this.read();
        if (known !== undefined && resumesOf(input) <= resumesOf(known.input)) return;
        const { limits = {}, resumes = 0 } = input;
        const kept =
          known === undefined ? { kind, input } : { ...known, input: { ...known.input, limits, resumes } };
        await writeFileAtomic(this.path, `${JSON.stringify(kept)}\n`, lock);
      },
      () => removeTemporaries(this.path),
    );
  }
}

function resumesOf({ resumes }: JsonObject): number {
  return typeof resumes === "number" ? resumes : 0;
}
