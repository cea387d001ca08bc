import { z } from "zod";
import { RUN_PHASES } from "../../core/run/phase.js";
import { workflowIdOf } from "../../core/run/run-id.js";

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

export const runMetadataSchema = z.object({
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
