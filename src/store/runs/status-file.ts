import { lstatSync } from "node:fs";
import { z } from "zod";
import { answeredBySchema } from "../../core/run/run-model.js";
import { RUN_PHASES, type RunPhase } from "../../core/run/phase.js";
import { removeTemporaries, writeFileAtomic } from "../disk/atomic-file.js";
import { FencedLock, type HeldLock } from "../disk/fenced-lock.js";
import { understoodFile } from "../disk/own-file.js";

const count = z.int().min(0);
const limits = z.object({
  turns: z.number().optional(),
  tokens: z.number().optional(),
  cost: z.number().optional(),
});
const statusSchema = z.object({
  phase: z.enum(RUN_PHASES),
  nodeId: z.string(),
  /** Which phase change this is: an older one never replaces a newer one. */
  change: count,
  usage: z.object({
    modelTurns: count,
    toolCalls: count,
    promptTokens: count,
    cachedPromptTokens: count.optional(),
    estimated: z.boolean().optional(),
    completionTokens: count,
    cost: z.number().min(0).default(0),
  }),
  paused: z.boolean().optional(),
  budget: z.object({ run: limits.optional(), node: limits.optional() }).optional(),
  /** The ids of the newest raises that the budget holds. */
  raises: z.array(z.string()).optional(),
  /** Which model had answered last. */
  answeredBy: answeredBySchema.optional(),
  /** What was answered last. */
  lastAnswer: z
    .object({ nodeId: z.string(), begins: z.string().optional(), by: z.string().optional() })
    .optional(),
  fault: z.object({ code: z.string(), message: z.string() }).optional(),
  question: z.object({ nodeId: z.string(), text: z.string(), code: z.string().optional() }).optional(),
});

const phaseSchema = statusSchema.pick({ phase: true });
const placeSchema = statusSchema.pick({ nodeId: true, paused: true, question: true });

/** Where a run stood last, as a listing shows it. */
export type RunPlace = z.infer<typeof placeSchema>;

/** Where a run stood at its last phase change, for those who ask without Temporal. */
export type RunStatus = z.infer<typeof statusSchema>;

/**
 * The phase that a status file says, and since when: at once, for whoever reads many. Undefined where there is none, and where it
 * cannot be understood.
 */
export function readStatusNow(
  path: string,
): { readonly phase: RunPhase; readonly lastUpdatedAt: string } | undefined {
  const status = understoodNow(path, phaseSchema);
  return status && { phase: status.phase, lastUpdatedAt: lstatSync(path).mtime.toISOString() };
}

/** Where a status file says that a run stood, also one that is over. Undefined as above. */
export function readPlaceNow(path: string): RunPlace | undefined {
  return understoodNow(path, placeSchema);
}

function understoodNow<T>(path: string, schema: z.ZodType<T>): T | undefined {
  try {
    return understoodFile(path, schema);
  } catch {
    return undefined; // a listing says where the index has the run
  }
}

export interface StatusFile {
  /** Undefined before the first phase change, and where the file cannot be understood. Throws what the system says. */
  read(): Promise<RunStatus | undefined>;
  /**
   * False when a newer change is known: it stays. `alongside` is what else has to be told, before a newer change
   * can be; it must not happen when the lock is lost.
   */
  write(status: RunStatus, alongside?: (lock: HeldLock) => Promise<void>): Promise<boolean>;
  fence(): Promise<void>;
}

export function openStatusFile(path: string, lockFile: string, owner: HeldLock): StatusFile {
  const mine = new FencedLock(lockFile, () => removeTemporaries(path), owner);

  async function read(): Promise<RunStatus | undefined> {
    return understoodFile(path, statusSchema);
  }
  return {
    read,
    write: (status, alongside) =>
      mine.hold(async (lock) => {
        const known = await read();
        if (known !== undefined && known.change > status.change) return false;
        await writeFileAtomic(path, `${JSON.stringify(status)}\n`, lock);
        await alongside?.(lock);
        return true;
      }),
    fence: () => mine.fence(),
  };
}
