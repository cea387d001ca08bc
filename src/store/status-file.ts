import { readFile } from "node:fs/promises";
import { z } from "zod";
import { writeFileAtomic } from "./atomic-file.js";

const count = z.int().min(0);
const statusSchema = z.object({
  phase: z.enum(["idle", "running", "waiting-user", "completed", "failed"]),
  nodeId: z.string(),
  /** Which phase change this is: an older one never replaces a newer one. */
  change: count,
  usage: z.object({ modelTurns: count, toolCalls: count, promptTokens: count, completionTokens: count }),
  fault: z.object({ code: z.string(), message: z.string() }).optional(),
  question: z.object({ nodeId: z.string(), text: z.string(), code: z.string().optional() }).optional(),
});

/** Where a run stood at its last phase change, for those who ask without Temporal. */
export type RunStatus = z.infer<typeof statusSchema>;

export interface StatusFile {
  /** Undefined before the first phase change. */
  read(): Promise<RunStatus | undefined>;
  write(status: RunStatus): Promise<void>;
}

export function openStatusFile(path: string): StatusFile {
  async function read(): Promise<RunStatus | undefined> {
    const text = await readFile(path, "utf8").catch(() => undefined);
    return text === undefined ? undefined : statusSchema.parse(JSON.parse(text));
  }
  return {
    read,
    async write(status) {
      const known = await read();
      if (known !== undefined && known.change > status.change) return;
      await writeFileAtomic(path, `${JSON.stringify(status)}\n`);
    },
  };
}
