import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { JsonObject } from "../core/json.js";
import { writeFileAtomic } from "./atomic-file.js";
import { type HeldLock, NO_LOCK } from "./file-lock.js";

const requestSchema = z.object({ kind: z.enum(["graph", "bundle"]), input: z.record(z.string(), z.json()) });

/** What a run was started with: it can be started again should Temporal no longer know it. */
export type RunRequest = z.infer<typeof requestSchema>;

/** `run.json` of a run folder. */
export class RunRequestFile {
  private readonly path: string;
  private readonly owner: HeldLock;

  constructor(dir: string, owner: HeldLock = NO_LOCK) {
    this.owner = owner;
    this.path = join(dir, "run.json");
  }

  /** Undefined where there is none, and where it cannot be understood. */
  async read(): Promise<RunRequest | undefined> {
    try {
      return requestSchema.parse(JSON.parse(await readFile(this.path, "utf8")));
    } catch {
      return undefined;
    }
  }

  /** Written once: a run that goes on keeps what it was started with. */
  async writeOnce(kind: RunRequest["kind"], input: JsonObject): Promise<void> {
    if ((await this.read()) === undefined) {
      await writeFileAtomic(this.path, `${JSON.stringify({ kind, input })}\n`, this.owner);
    }
  }
}
