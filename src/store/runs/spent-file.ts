import { rmSync } from "node:fs";
import { z } from "zod";
import { removeTemporaries, writeFileAtomic } from "../disk/atomic-file.js";
import { FencedLock, type HeldLock } from "../disk/fenced-lock.js";
import { standsThere, understoodFile } from "../disk/own-file.js";

const count = z.int().min(0);
const spentSchema = z.object({
  /** The turn that was asked in vain, and where its answer would stand. */
  conversation: z.string(),
  visit: count,
  turn: count,
  usage: z.object({
    promptTokens: count,
    cachedPromptTokens: count.optional(),
    completionTokens: count,
    cost: z.number().min(0),
    estimated: z.boolean().optional(),
  }),
  /** The change of phase that counts it: the run's end, where no answer came any more. */
  countedBy: count.optional(),
});

/** What attempts at a turn have used whose answer was none. */
export type Spent = z.infer<typeof spentSchema>;

/**
 * What of a run was counted by providers and stands in no answer yet. It is there from an attempt that has failed until an answer has
 * been written down that counts it, of whichever worker; where none comes, the run's end counts it.
 */
export class SpentFile {
  private readonly path: string;
  private readonly lock: FencedLock;

  constructor(path: string, lockFile: string, owner: HeldLock) {
    this.path = path;
    this.lock = new FencedLock(lockFile, () => removeTemporaries(path), owner);
  }

  /** Undefined where there is none. Throws what the system says. */
  read(): Spent | undefined {
    return understoodFile(this.path, spentSchema);
  }

  /** Puts another in its place. */
  async write(spent: Spent): Promise<void> {
    await this.lock.hold((lock) => writeFileAtomic(this.path, `${JSON.stringify(spent)}\n`, lock));
  }

  async remove(): Promise<void> {
    if (!standsThere(this.path)) return;
    await this.lock.hold(async (lock) => {
      lock.assertHeld();
      rmSync(this.path, { force: true });
    });
  }
}
