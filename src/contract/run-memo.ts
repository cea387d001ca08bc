import { z } from "zod";
import { RUN_PHASES } from "../core/run/phase.js";

/** The field of a run's memo in which it says where it stands, so that a listing needs no query of each run. */
export const RUN_MEMO = "interlock";

const SHORT = 200;

/**
 * What a listing shows of a run (contracts §14). It holds nothing that the history does not hold, and is written by the run alone; a
 * foreign workflow may have anything in its place.
 */
export const runMemoSchema = z.object({
  runId: z.string().max(SHORT),
  phase: z.enum(RUN_PHASES),
  paused: z.boolean().optional(),
  package: z.string().max(SHORT).optional(),
  workflow: z.string().max(SHORT).optional(),
  projectId: z.string().max(SHORT).optional(),
  /** The name of the project's directory. */
  project: z.string().max(SHORT).optional(),
  /** Of a subworkflow's run: the run that has started it. */
  parent: z.string().max(SHORT).optional(),
  node: z.string().max(SHORT).optional(),
  /** The first line of the question that the run waits with. */
  question: z.string().max(SHORT).optional(),
  /** That question's id, `<visit>.<turn>`. */
  asked: z.string().max(SHORT).optional(),
  /** Why the engine asks, where it is not the model. */
  code: z.string().max(SHORT).optional(),
  /** When it came into this phase, ISO. */
  since: z.iso.datetime(),
});
export type RunMemo = z.infer<typeof runMemoSchema>;
