import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, namesIn, openRunWorld, valueOf } from "../../fakes/run-world.js";

/** Which call of the file system fails, counted from 0; what was called. A disk's faults cannot be had otherwise. */
const disk = vi.hoisted(() => {
  const state = { failAt: -1, calls: [] as string[] };
  const enter = (name: string) => {
    const index = state.calls.push(name) - 1;
    if (index === state.failAt) throw Object.assign(new Error("EIO: injected"), { code: "EIO", errno: -5 });
  };
  return { state, enter };
});

vi.mock("node:fs/promises", async (importOriginal) => {
  const original = await importOriginal<Record<string, unknown>>();
  const failing = ["mkdir", "writeFile", "rename", "rm", "stat", "readFile", "realpath", "open"].map(
    (name) => {
      const call = original[name] as (...args: unknown[]) => Promise<unknown>;
      return [name, async (...args: unknown[]) => (disk.enter(name), call(...args))] as const;
    },
  );
  return { ...original, ...Object.fromEntries(failing) };
});

vi.mock("node:fs", async (importOriginal) => {
  const original = await importOriginal<Record<string, unknown>>();
  const failing = ["openSync", "writeFileSync", "renameSync", "mkdirSync", "rmSync", "statSync"].map(
    (name) => {
      const call = original[name] as (...args: unknown[]) => unknown;
      return [name, (...args: unknown[]) => (disk.enter(name), call(...args))] as const;
    },
  );
  const fsync = (descriptor: number, done: (error?: unknown) => void) => {
    try {
      disk.enter("fsync");
    } catch (error) {
      done(error);
      return;
    }
    (original["fsync"] as (fd: number, callback: typeof done) => void)(descriptor, done);
  };
  return { ...original, ...Object.fromEntries(failing), fsync };
});

const RUN_ID = "11111111-2222-4333-8444-555555555555";

let world: RunWorld;
beforeEach(async () => {
  world = await openRunWorld(validPackage());
});
afterEach(() => {
  disk.state.failAt = -1;
});

async function createFailingAt(step: number) {
  disk.state.calls.length = 0;
  disk.state.failAt = step;
  const result = await world.store.runs.createRun({
    projectRoot: world.projectRoot,
    packageId: world.packageId,
    activeAgentId: "author",
    runId: RUN_ID,
  });
  const calls = [...disk.state.calls];
  disk.state.failAt = -1;
  return { result, calls };
}

async function clear() {
  await rm(join(world.store.dir, "projects"), { recursive: true, force: true });
  await rm(join(world.projectRoot, "artifacts"), { recursive: true, force: true });
}

describe("when the disk fails at any one step of a creation", () => {
  test("nothing is left of the run, a sentence says so, and a retry succeeds", async () => {
    await createFailingAt(-1); // the package is loaded once
    await clear();
    const whole = await createFailingAt(-1);
    expect(whole.result.ok).toBe(true);
    const failures: string[] = [];
    const aFault: unknown = expect.stringMatching(/^E_(?:INDEX_WRITE_FAILED|INTERNAL|PROJECT_INVALID)$/u);
    for (let step = 0; step < whole.calls.length; step += 1) {
      await clear();
      const { result } = await createFailingAt(step);
      const at = `step ${step}, ${whole.calls[step]}`;
      const listed = valueOf(await world.store.runs.listRuns(world.projectRoot));
      const left = (await namesIn(world.store.dir)).filter(
        (name) => name.includes(RUN_ID) || name.includes(".tmp-"),
      );
      const code = result.ok ? undefined : result.error.code;
      if (code !== undefined) failures.push(whole.calls[step] ?? "");
      // What was made counts only if the creation went through all the same.
      const expected = result.ok
        ? { code: undefined, runs: 1, left: left.length, project: ["artifacts/"] }
        : {
            code: aFault,
            runs: 0,
            left: 0,
            project: [],
          };
      const project = await namesIn(world.projectRoot);
      expect({ at, code, runs: listed.length, left: left.length, project }).toEqual({ at, ...expected });
      expect((await createFailingAt(-1)).result.ok).toBe(true);
      expect(valueOf(await world.store.runs.listRuns(world.projectRoot))).toHaveLength(1);
    }
    // What a creation cannot do without; the rest was tolerated.
    expect(failures).toEqual(
      expect.arrayContaining([
        "fsync",
        "mkdirSync",
        "openSync",
        "renameSync",
        "rmSync",
        "statSync",
        "writeFileSync",
      ]),
    );
  });
});
