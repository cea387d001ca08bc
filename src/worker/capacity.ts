import { availableParallelism, totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";
import type { WorkerSize } from "../environment/worker-size.js";
import { type Descriptors, type Slots, planSlots, readDescriptors } from "./descriptors.js";

/** What a worker may use of the machine that it runs on. */
export interface Machine {
  readonly cores: number;
  /** In bytes; a limit of the container counts. */
  readonly memory: number;
  /** The most that the process's JavaScript heap grows to, in bytes. */
  readonly heap: number;
  readonly descriptors: Descriptors;
}

/** How much a worker does at once. */
export interface WorkerCapacity extends Slots, Required<WorkerSize> {
  /** Why it is less than it was to be. */
  readonly note?: string;
}

const MIB = 1024 * 1024;
/** A worker without runs, and what the system needs beside it. */
const BASE_MIB = 200;
/** A run that is kept in memory between its steps; measured 0.5 of short ones (bench/README.md), and long ones know more. */
const CACHED_RUN_MIB = 0.75;
/** A model turn under way: its request, as objects and as text, and the answer. */
const TURN_MIB = 2;

/**
 * How much a worker does at once, from what its machine has; what is set is taken as it is, but for what the process may open
 * (`descriptors.ts`). Activities wait for models most of their time: more than cores can work on at once. Files and workflow tasks keep
 * cores busy: so many that none of them waits for a disk alone. Throws where a worker could open too few files.
 */
export function workerCapacity(machine: Machine, set: WorkerSize = {}): WorkerCapacity {
  const { cores } = machine;
  const spare = Math.max(0, machine.memory / MIB - BASE_MIB);
  const heap = Math.max(0, machine.heap / MIB - BASE_MIB);
  const cachedRuns =
    set.cachedRuns ?? between(20, Math.floor(Math.min(spare / 2, (heap * 3) / 4) / CACHED_RUN_MIB), 5_000);
  const wanted: Required<WorkerSize> = {
    activities:
      set.activities ??
      Math.min(between(64, 64 * cores, 512), between(16, Math.floor(spare / 2 / TURN_MIB), 512)),
    localActivities: set.localActivities ?? between(32, 32 * cores, 128),
    // Temporal's SDK takes no more of them than runs are kept.
    workflowTasks: Math.min(set.workflowTasks ?? between(20, 20 * cores, 100), cachedRuns),
    cachedRuns,
    pollers: set.pollers ?? between(5, 5 * cores, 20),
  };
  const { activities, localActivities, note } = planSlots(machine.descriptors, wanted);
  return {
    ...wanted,
    activities,
    localActivities,
    pollers: Math.min(wanted.pollers, wanted.workflowTasks),
    ...(note === undefined ? {} : { note }),
  };
}

/** The machine that this process runs on. */
export function readMachine(): Machine {
  const limit = process.constrainedMemory() ?? 0;
  return {
    cores: availableParallelism(),
    memory: limit > 0 && limit < totalmem() ? limit : totalmem(),
    heap: getHeapStatistics().heap_size_limit,
    descriptors: readDescriptors(),
  };
}

/** As an operator reads it. */
export function capacityText(capacity: WorkerCapacity): string {
  const { activities, localActivities, workflowTasks, cachedRuns, pollers } = capacity;
  return `${activities} activities, ${localActivities} local activities and ${workflowTasks} workflow tasks at once, ${cachedRuns} runs in memory, ${pollers} pollers`;
}

function between(least: number, value: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
