import type { JsonObject } from "../../core/json.js";
import type { AuditHead } from "../../core/run/audit-head.js";
import { HOST_MAX_READ_BYTES, HOST_MAX_WRITE_BYTES } from "../../core/run/limits.js";
import type { FrontmatterUpdate } from "../../core/tools/tool-specs.js";
import type { LoadedWorkflow } from "../../store/packages/package-loader.js";
import type { RunFiles } from "../../store/runs/run-files.js";
import type { ExecutedCall } from "../recorded-call.js";
import type { EngineKnowledge } from "./call-context.js";
import { changeStateDocument } from "./state-change.js";

/** A change of the state document that the engine makes by itself, at a node that needs no model. */
export interface NodePass {
  /** Unique in the run: the same again is the same change. */
  readonly id: string;
  readonly update: FrontmatterUpdate;
  /** What the audit log says of it. */
  readonly event: JsonObject;
}

const NO_POLICY = { maxReadBytes: HOST_MAX_READ_BYTES, maxWriteBytes: HOST_MAX_WRITE_BYTES };

/**
 * Changes the state document for the engine, once: under the guard and the run's state lock, in the journal and in the audit log as a call of a
 * model is, but under no agent's policy.
 */
export async function passNode(
  files: RunFiles,
  workflow: LoadedWorkflow,
  { id, update, event }: NodePass,
  knowledge: EngineKnowledge,
): Promise<ExecutedCall> {
  const outcome = await files.whileStateIsMine(async (lock) => {
    const known = await files.calls.find(id);
    if (known !== undefined) return known;
    const call = {
      tool: "fs.apply_patch",
      arguments: { path: "@state/workflow.md", patch: { operation: "updateFrontmatter", update } },
    } as const;
    const done = await changeStateDocument({ files, workflow, limits: NO_POLICY, knowledge, lock }, id, call);
    await files.calls.record(id, done, lock);
    return done;
  });
  const audit: AuditHead = outcome.result.ok
    ? await files.audit.record({ ...event, kind: "node.pass", id }, new Date())
    : await files.audit.head();
  return { ...outcome, audit };
}
