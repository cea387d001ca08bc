import { join } from "node:path";
import { z } from "zod";
import type { JsonObject } from "../../core/json.js";
import { removeTemporaries, writeFileAtomic } from "../disk/atomic-file.js";
import { type HeldLock, NO_LOCK, fenceLock, withFileLock } from "../disk/fenced-lock.js";
import { readOwnText } from "../disk/own-file.js";

const requestSchema = z.object({
  kind: z.enum(["graph", "bundle"]),
  input: z.record(z.string(), z.json()),
  /** The Temporal workflow that the run belongs to. Absent where an earlier version has made the run: `run-<runId>`. */
  workflowId: z.string().optional(),
  /** The first execution that Temporal began for it. */
  executionId: z.string().optional(),
  /** The start, or that of the newest execution, was signed. */
  signed: z.boolean().optional(),
});

/** What a run was started with: it can be started again should Temporal no longer know it. */
export type RunRequest = z.infer<typeof requestSchema>;

/** `run.json` of a run folder. */
export class RunRequestFile {
  private readonly path: string;
  private readonly lockFile: string;
  private readonly owner: HeldLock;

  constructor(dir: string, owner: HeldLock = NO_LOCK) {
    this.owner = owner;
    this.path = join(dir, "run.json");
    this.lockFile = join(dir, "request.lock");
  }

  /** Undefined where there is none, and where it cannot be understood. */
  async read(): Promise<RunRequest | undefined> {
    try {
      return requestSchema.parse(JSON.parse(await readOwnText(this.path)));
    } catch {
      return undefined;
    }
  }

  /**
   * Keeps the first request of a run, and of one that lets it go on the limits, which a retry may change. The execution of
   * an older request is over by then: it comes too late.
   */
  async keep(
    kind: RunRequest["kind"],
    input: JsonObject,
    origin: Pick<RunRequest, "workflowId" | "executionId" | "signed"> = {},
  ): Promise<void> {
    const keepUnderLock = async (lock: HeldLock): Promise<void> => {
      const known = await this.read();
      if (known !== undefined && input["resume"] !== true) return;
      const { limits = {} } = input;
      const signed = origin.signed ?? false;
      const isSame = JSON.stringify(known?.input["limits"] ?? {}) === JSON.stringify(limits);
      if (known !== undefined && isSame && (known.signed ?? false) === signed) return;
      const kept =
        known === undefined
          ? { kind, ...origin, input }
          : {
              ...known,
              ...(signed === (known.signed ?? false) ? {} : { signed }),
              input: { ...known.input, limits },
            };
      await writeFileAtomic(this.path, `${JSON.stringify(kept)}\n`, lock);
    };
    await withFileLock(this.lockFile, keepUnderLock, () => removeTemporaries(this.path), {
      owner: this.owner,
    });
  }

  fence(): Promise<void> {
    return fenceLock(this.lockFile, () => removeTemporaries(this.path), this.owner);
  }
}
