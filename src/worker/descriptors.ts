import { readFileSync, readdirSync } from "node:fs";

/** How many tasks a worker runs at once. */
export interface Slots {
  readonly activities: number;
  readonly localActivities: number;
}

/** What one running task has open at most: a connection, or a log, a lock, and a file with its temporary copy. */
const PER_TASK = 6;
/** For the connections to Temporal, libraries that load late and files that open between tasks. */
const RESERVE = 16;

/** What a process may open, and has open; undefined where the system does not say. */
export interface Descriptors {
  readonly limit: number | undefined;
  readonly open: number;
}

export interface SlotPlan extends Slots {
  /** Why there are fewer than usual. */
  readonly note?: string;
}

/**
 * How many tasks fit into what the process may open. A process that has opened all it may is aborted from within, in the
 * middle of whatever it does: so a worker takes less at once, and says so.
 */
export function planSlots({ limit, open }: Descriptors, wanted: Slots): SlotPlan {
  const { activities, localActivities } = wanted;
  if (limit === undefined) return { activities, localActivities };
  const tasks = Math.floor((limit - open - RESERVE) / PER_TASK);
  const all = activities + localActivities;
  if (tasks >= all) return { activities, localActivities };
  const enough = open + RESERVE + PER_TASK * all;
  if (tasks < 2) {
    throw new Error(
      `This process may open ${limit} files and connections, too few for a worker. Raise the limit, for example with: ulimit -n ${enough}`,
    );
  }
  const files = Math.min(localActivities, Math.floor(tasks / 2));
  return {
    activities: Math.min(activities, tasks - files),
    localActivities: files,
    note: `This process may open ${limit} files and connections, so the worker runs ${tasks} tasks at once instead of ${all}. For all of them: ulimit -n ${enough}`,
  };
}

/** What this process may open and has open. */
export function readDescriptors(): Descriptors {
  return { limit: readLimit(), open: countOpen() };
}

/** What is looked at of Node's diagnostic report, as Node documents it. */
interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

function readLimit(): number | undefined {
  try {
    const line = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"));
    if (line !== null) return toLimit(line[1]);
  } catch {
    // Not a Linux: the report knows.
  }
  const { userLimits } = process.report.getReport() as Report;
  return toLimit(userLimits?.open_files?.soft);
}

function toLimit(value: unknown): number | undefined {
  const limit = Number(value);
  return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined;
}

function countOpen(): number {
  for (const dir of ["/proc/self/fd", "/dev/fd"]) {
    try {
      return readdirSync(dir).length;
    } catch {
      // The next one may exist.
    }
  }
  return 32;
}
