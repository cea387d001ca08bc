import { describe, expect, test } from "vitest";
import { ConfigError, loadConfig } from "../../src/config.js";
import { type Machine, capacityText, readMachine, workerCapacity } from "../../src/worker/capacity.js";

const MIB = 1024 * 1024;

function machine(cores: number, memory: number, limit?: number, heap = Math.min(memory / 2, 4096)): Machine {
  return { cores, memory: memory * MIB, heap: heap * MIB, descriptors: { limit, open: 30 } };
}

describe("what a worker does at once", () => {
  test.each([
    // cores, MiB, open files: activities, local activities, workflow tasks, runs in memory, pollers
    [1, 512, undefined, [64, 32, 20, 56, 5]],
    [1, 1024, undefined, [64, 32, 20, 312, 5]],
    [2, 4096, undefined, [128, 64, 40, 1848, 10]],
    [2, 24_000, undefined, [128, 64, 40, 3896, 10]],
    [4, 16_000, undefined, [256, 128, 80, 3896, 20]],
    [64, 256_000, undefined, [512, 128, 100, 3896, 20]],
    [2, 200, undefined, [16, 64, 20, 20, 10]],
    [2, 4096, 1024, [99, 64, 40, 1848, 10]],
    [2, 4096, 256, [18, 17, 40, 1848, 10]],
    [2, 4096, 20_000, [128, 64, 40, 1848, 10]],
  ] as const)("with %i cores, %i MiB and %s open files", (cores, memory, limit, expected) => {
    const { activities, localActivities, workflowTasks, cachedRuns, pollers, note } = workerCapacity(
      machine(cores, memory, limit),
    );
    expect([activities, localActivities, workflowTasks, cachedRuns, pollers]).toEqual(expected);
    expect(note !== undefined).toBe(limit !== undefined && limit < 2_000);
  });

  test("is what is set, as far as the process may open so many files and the SDK takes it", () => {
    const set = { activities: 10, localActivities: 4, workflowTasks: 50, cachedRuns: 30, pollers: 40 };
    expect(workerCapacity(machine(2, 4096, 1024), set)).toEqual({ ...set, workflowTasks: 30, pollers: 30 });
    const few = workerCapacity(machine(2, 4096, 100), { activities: 1000, localActivities: 2 });
    expect(few).toMatchObject({
      activities: 7,
      localActivities: 2,
      note: expect.stringMatching(/ulimit -n \d+/),
    });
  });

  test("is nothing where too few files may be opened", () => {
    expect(() => workerCapacity(machine(2, 4096, 50))).toThrow(/too few for a worker.*ulimit -n \d+/);
  });

  test("is known of this machine, and read by operators", () => {
    const here = readMachine();
    expect(here.cores).toBeGreaterThan(0);
    expect(here.memory).toBeGreaterThan(100 * MIB);
    expect(capacityText(workerCapacity(machine(2, 4096)))).toBe(
      "128 activities, 64 local activities and 40 workflow tasks at once, 1848 runs in memory, 10 pollers",
    );
  });
});

describe("the size of a worker as it is set", () => {
  const variables = { INTERLOCK_STORE: "/nowhere/store", INTERLOCK_CACHE: "/nowhere/cache" };

  test("comes from variables", () => {
    const set = { INTERLOCK_WORKER_ACTIVITIES: "12", INTERLOCK_WORKER_CACHED_RUNS: "2" };
    expect(loadConfig({ ...variables, ...set }).workerSize).toEqual({ activities: 12, cachedRuns: 2 });
    expect(loadConfig(variables).workerSize).toEqual({});
  });

  test.each([
    ["INTERLOCK_WORKER_ACTIVITIES", "0"],
    ["INTERLOCK_WORKER_POLLERS", "1"],
    ["INTERLOCK_WORKER_LOCAL_ACTIVITIES", "many"],
    ["INTERLOCK_WORKER_WORKFLOW_TASKS", "1e9"],
  ])("is refused by the name of the variable: %s=%s", (name, value) => {
    expect(() => loadConfig({ ...variables, [name]: value })).toThrow(ConfigError);
    expect(() => loadConfig({ ...variables, [name]: value })).toThrow(name);
  });
});
