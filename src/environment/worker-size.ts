import { z } from "zod";
import { defined } from "../core/defined.js";

/** What a worker may do at once, where that is set; what is absent is derived from the machine (`worker/capacity.ts`). */
export interface WorkerSize {
  /** Activities: model turns that wait for an answer, calls of external tools, saves. */
  readonly activities?: number;
  /** Local activities: reads and writes of files. */
  readonly localActivities?: number;
  readonly workflowTasks?: number;
  /** Runs that stay in memory between their steps. */
  readonly cachedRuns?: number;
  /** Requests for tasks that wait at Temporal, for each kind of task. */
  readonly pollers?: number;
}

const MOST = 100_000;
const size = z.int().min(1).max(MOST);
/** Temporal's SDK takes no fewer of these. */
const atLeastTwo = z.int().min(2).max(MOST);

/** `worker` of the settings file. */
export const workerSizeSchema = z.strictObject({
  activities: size.optional(),
  localActivities: size.optional(),
  workflowTasks: atLeastTwo.optional(),
  cachedRuns: atLeastTwo.optional(),
  pollers: atLeastTwo.optional(),
});

const numberOf = (schema: z.ZodInt) =>
  z.string().regex(/^\d+$/, "must be a whole number").transform(Number).pipe(schema).optional();

/** The variables that take the place of the settings. */
export const workerSizeVariables = {
  INTERLOCK_WORKER_ACTIVITIES: numberOf(size),
  INTERLOCK_WORKER_LOCAL_ACTIVITIES: numberOf(size),
  INTERLOCK_WORKER_WORKFLOW_TASKS: numberOf(atLeastTwo),
  INTERLOCK_WORKER_CACHED_RUNS: numberOf(atLeastTwo),
  INTERLOCK_WORKER_POLLERS: numberOf(atLeastTwo),
};
type Variables = z.infer<z.ZodObject<typeof workerSizeVariables>>;

export function workerSizeOf(env: Variables, settings: z.infer<typeof workerSizeSchema> = {}): WorkerSize {
  return defined({
    activities: env.INTERLOCK_WORKER_ACTIVITIES ?? settings.activities,
    localActivities: env.INTERLOCK_WORKER_LOCAL_ACTIVITIES ?? settings.localActivities,
    workflowTasks: env.INTERLOCK_WORKER_WORKFLOW_TASKS ?? settings.workflowTasks,
    cachedRuns: env.INTERLOCK_WORKER_CACHED_RUNS ?? settings.cachedRuns,
    pollers: env.INTERLOCK_WORKER_POLLERS ?? settings.pollers,
  });
}
