import { dirname, join } from "node:path";
import { z } from "zod";
import { canonicalJson } from "../../core/canonical-json.js";
import type { JsonObject } from "../../core/json.js";
import { type RunModels, runModelsSchema } from "../../core/run/run-model.js";
import { removeTemporaries, syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { FencedLock, type HeldLock } from "../disk/fenced-lock.js";
import { understoodFile } from "../disk/own-file.js";

/** Loose: what a later version has written beside stays. */
const requestSchema = z.looseObject({
  kind: z.enum(["graph", "bundle"]),
  input: z.record(z.string(), z.json()),
  /** The Temporal workflow that the run belongs to. Absent where an earlier version has made the run: `run-<runId>`. */
  workflowId: z.string().optional(),
  /** The first execution that Temporal began for it. */
  executionId: z.string().optional(),
  /** The start, or that of the newest execution, was signed. */
  signed: z.boolean().optional(),
  /** A worker that seals has opened it, or its newest execution. */
  sealed: z.boolean().optional(),
  /** Which models the run uses. Absent for a rehearsal, and where an earlier version has made the run. */
  models: runModelsSchema.optional(),
});

/** What a run was started with: it can be started again should Temporal no longer know it. */
export type RunRequest = z.infer<typeof requestSchema>;

/** `run.json` of a run folder. */
export class RunRequestFile {
  private readonly path: string;
  private readonly lock: FencedLock;

  constructor(dir: string, owner: HeldLock) {
    this.path = join(dir, "run.json");
    this.lock = new FencedLock(join(dir, "request.lock"), () => removeTemporaries(this.path), owner);
  }

  /** Undefined where there is none, and where it cannot be understood. Throws what the system says. */
  async read(): Promise<RunRequest | undefined> {
    return understoodFile(this.path, requestSchema);
  }

  /**
   * Keeps the first request of a run, and of one that lets it go on limits and models, which a retry may change. The execution of
   * an older request is over by then: it comes too late.
   */
  async keep(
    kind: RunRequest["kind"],
    input: JsonObject,
    origin: Pick<RunRequest, "workflowId" | "executionId" | "signed" | "sealed"> = {},
    models?: RunModels,
  ): Promise<void> {
    await this.lock.hold(async (lock) => {
      const known = await this.read();
      const dir = dirname(this.path);
      if (known !== undefined && input["resume"] !== true) return syncDirectory(dir); // who wrote it may have died first
      const begun = { kind, ...origin, input, ...(models === undefined ? {} : { models }) };
      const kept = known === undefined ? begun : goneOn(known, begun);
      if (known !== undefined && canonicalJson(kept) === canonicalJson(known)) return syncDirectory(dir);
      await writeFileAtomic(this.path, `${JSON.stringify(kept)}\n`, lock);
    });
  }

  fence(): Promise<void> {
    return this.lock.fence();
  }
}

interface Changes {
  readonly input: JsonObject;
  readonly signed?: boolean | undefined;
  readonly sealed?: boolean | undefined;
  readonly models?: RunModels;
}

/** The first request, with what the one that lets the run go on may change. */
function goneOn(known: RunRequest, { input, signed = false, sealed = false, models }: Changes): object {
  const { limits = {}, model } = input;
  const { model: _, ...same } = known.input;
  const hasLimits = known.input["limits"] !== undefined || Object.keys(limits ?? {}).length > 0;
  return {
    ...known,
    ...(signed === (known.signed ?? false) ? {} : { signed }),
    ...(sealed === (known.sealed ?? false) ? {} : { sealed }),
    ...(models === undefined ? {} : { models }),
    input: { ...same, ...(hasLimits ? { limits } : {}), ...(model === undefined ? {} : { model }) },
  };
}
