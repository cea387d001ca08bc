import { chmod, mkdir, readFile, readdir, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { RunMetadata } from "../../../src/store/runs/run-metadata.js";
import { openStore } from "../../../src/store/store.js";
import { validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, namesIn, openRunWorld, valueOf } from "../../fakes/run-world.js";
import { withoutRights } from "../../fakes/unprivileged.js";

const NOW = new Date("2026-03-04T05:06:07.000Z");
const NOT_OPEN = /visit-1\.jsonl is not open to this user \(EACCES.*\)\. See to its permissions/;
const ID = (digit: number) => `${String(digit).repeat(8)}-1111-4111-8111-111111111111`;

let world: RunWorld;
let projectDir: string;
beforeEach(async () => {
  world = await openRunWorld(validPackage());
});

async function create(runId: string): Promise<RunMetadata> {
  const { projectRoot, packageId } = world;
  const run = valueOf(
    await world.store.runs.createRun({ projectRoot, packageId, activeAgentId: "author", runId }, NOW),
  );
  projectDir = join(world.store.dir, "projects", run.projectId);
  return run;
}

async function ended(runId: string): Promise<RunMetadata> {
  const run = await create(runId);
  await world.store.runs.setPhase(run, "completed", NOW);
  return run;
}

const listed = async () => (await world.store.runs.listAllRuns()).map(({ runId }) => runId);
const names = async (runId: string) => (await namesIn(projectDir)).filter((name) => name.includes(runId));

describe("a run that is pruned", () => {
  test("is gone with its files, for every process, and others stay as they are", async () => {
    const other = await openStore(world.store.dir);
    const [gone, stays] = [await ended(ID(1)), await ended(ID(2))];
    expect(await other.runs.listAllRuns()).toHaveLength(2);
    const before = await names(ID(2));
    expect(await world.store.runs.prune(gone, 1, NOW)).toBe(true);
    expect(await listed()).toEqual([stays.runId]);
    expect((await other.runs.listAllRuns()).map(({ runId }) => runId)).toEqual([stays.runId]);
    expect(await names(ID(1))).toEqual([]);
    expect(await names(ID(2))).toEqual(before);
    expect(await world.store.runs.prune(gone, 1, NOW)).toBe(false);
  });

  test("is known to have been there, is found by nobody, and its id is no new run's", async () => {
    const run = await ended(ID(1));
    await world.store.runs.prune(run, 1, NOW);
    await world.store.runs.sweep();
    const error = {
      code: "E_RUN_NOT_FOUND",
      message: expect.stringContaining("was pruned on 2026-03-04") as string,
    };
    expect(await world.store.runs.findRun(ID(1))).toMatchObject({ error });
    expect(await (await openStore(world.store.dir)).runs.findRun(ID(1))).toMatchObject({ error });
    const { projectRoot, packageId } = world;
    const again = { projectRoot, packageId, activeAgentId: "author", runId: ID(1) };
    expect(await world.store.runs.createRun(again, NOW)).toMatchObject({ error });
    expect(await names(ID(1))).toEqual([]);
  });

  test("whose files cannot be removed is named, and keeps no other from being ended", async () => {
    const runs = [await ended(ID(1)), await ended(ID(2))];
    const trash = join(projectDir, "trash");
    for (const { runId } of runs) {
      await world.store.runs.prune({ projectId: runs[0]?.projectId ?? "", runId }, 1, NOW);
      await mkdir(join(trash, runId, "conversation"), { recursive: true }); // as a kill has left it
      await writeFile(join(trash, runId, "conversation", "visit-1.jsonl"), "");
    }
    await withoutRights(world.dir, async () => {
      await chmod(join(trash, ID(1), "conversation"), 0o500);
      expect(await world.store.runs.sweep()).toEqual({
        ended: [ID(2)],
        notRemoved: [{ runId: ID(1), why: expect.stringMatching(NOT_OPEN) as string }],
      });
      await chmod(join(trash, ID(1), "conversation"), 0o700);
      expect(await world.store.runs.sweep()).toEqual({ ended: [ID(1)], notRemoved: [] });
    });
    expect(await readdir(trash)).toEqual([]);
  });

  test("is none that is not over, or that has gone on since", async () => {
    const run = await create(ID(1));
    expect(await world.store.runs.prune(run, 1, NOW)).toBe(false);
    await world.store.runs.setBegun(run, NOW);
    expect(await world.store.runs.prune(run, 1, NOW)).toBe(false);
    await world.store.runs.setPhase(run, "failed", NOW);
    const seen = world.store.runs.newestExecution(run);
    const { executions } = valueOf(await world.store.runs.openFiles(run.projectId, run.runId));
    await executions.begin({ id: "second", startedAt: 2 }, true);
    expect(await world.store.runs.prune(run, seen, NOW)).toBe(false);
    expect(await listed()).toEqual([ID(1)]);
    expect(await world.store.runs.prune(run, world.store.runs.newestExecution(run), NOW)).toBe(true);
  });

  test("may be one whose folder is missing", async () => {
    const run = await ended(ID(1));
    await rename(join(projectDir, "runs", ID(1)), join(world.dir, "lost"));
    expect(await world.store.runs.prune(run, 1, NOW)).toBe(true);
    expect(await listed()).toEqual([]);
    expect(await names(ID(1))).toEqual([]);
  });

  test("is one of an index of an earlier version as well, and does not come back with it", async () => {
    const run = await ended(ID(1));
    const old = JSON.stringify([{ ...run, phase: "failed" }]);
    await rename(join(projectDir, "runs.jsonl"), join(world.dir, "moved"));
    await writeFile(join(projectDir, "runsIndex.json"), old);
    expect(await world.store.runs.prune(run, 1, NOW)).toBe(true);
    expect(await listed()).toEqual([]);
    await writeFile(join(projectDir, "runsIndex.json"), old); // a backup, put back
    expect(await listed()).toEqual([]);
  });
});

describe("an index with lines that say nothing any more", () => {
  test("is made anew without them, for those who have read it as well", async () => {
    const other = await openStore(world.store.dir);
    const runs: RunMetadata[] = [];
    for (let digit = 1; digit <= 6; digit += 1) runs.push(await ended(ID(digit)));
    const open = await create(ID(7));
    await world.store.runs.setBegun(open, NOW);
    expect(await other.runs.listAllRuns()).toHaveLength(7);
    for (const run of runs.slice(0, 4)) await world.store.runs.prune(run, 1, NOW);
    const before = await world.store.runs.listAllRuns();
    await world.store.runs.sweep();
    expect((await readFile(join(projectDir, "runs.jsonl"), "utf8")).split("\n")).toHaveLength(4 + 3 + 1);
    expect(await world.store.runs.listAllRuns()).toEqual(before);
    expect(await other.runs.listAllRuns()).toEqual(before);
    expect(await other.runs.findRun(ID(1))).toMatchObject({
      error: { details: { prunedAt: NOW.toISOString() } },
    });
    await other.runs.setPhase(open, "completed", NOW);
    expect((await world.store.runs.listAllRuns()).map(({ phase }) => phase)).toEqual(
      Array(3).fill("completed"),
    );
  });
});

describe("what belongs to no run", () => {
  const old = new Date("2020-01-01");
  const which = { before: new Date("2021-01-01"), stays: false };

  async function strays() {
    const run = await ended(ID(1));
    const [unmade, young, lost] = [ID(2), ID(3), ID(4)];
    for (const runId of [unmade, young, lost]) {
      await mkdir(join(projectDir, "runs", runId, "state/logs"), { recursive: true });
      await writeFile(join(projectDir, "runs", runId, "state/logs/execution.jsonl"), "");
    }
    await writeFile(join(projectDir, "runs", lost, "calls.jsonl"), "{}\n");
    for (const runId of [unmade, lost]) await utimes(join(projectDir, "runs", runId), old, old);
    await mkdir(join(projectDir, "trash", ID(5)), { recursive: true });
    return { run, unmade, young, lost, pruned: ID(5) };
  }

  test("is removed, unless it is young or somebody has worked in it", async () => {
    const { run, unmade, young, lost, pruned } = await strays();
    const found = { pruned: [pruned], unmade: [unmade], lost: [lost], notRemoved: [] };
    expect(await world.store.runs.collect({ ...which, stays: true })).toEqual(found);
    expect(await readdir(join(projectDir, "runs"))).toHaveLength(4);
    expect(await world.store.runs.collect(which)).toEqual(found);
    expect((await readdir(join(projectDir, "runs"))).sort()).toEqual([run.runId, young, lost].sort());
    expect(await readdir(join(projectDir, "trash"))).toEqual([]);
    expect(await world.store.runs.collect(which)).toEqual({ ...found, pruned: [], unmade: [] });
    expect(await listed()).toEqual([run.runId]);
  });

  test("is removed where runs are staged as well", async () => {
    await ended(ID(1));
    const staged = join(projectDir, "staged");
    for (const name of ["cut-short", "young"]) await mkdir(join(staged, name, "state"), { recursive: true });
    await utimes(join(staged, "cut-short"), old, old);
    for (const stays of [true, false]) {
      expect(await world.store.runs.collect({ ...which, stays })).toMatchObject({ unmade: ["cut-short"] });
    }
    expect(await readdir(staged)).toEqual(["young"]);
  });

  test("is named where it cannot be removed; the rest goes", async () => {
    const { unmade, lost, pruned } = await strays();
    const conversation = join(projectDir, "trash", pruned, "conversation");
    await mkdir(conversation);
    await writeFile(join(conversation, "visit-1.jsonl"), "");
    await withoutRights(world.dir, async () => {
      await chmod(conversation, 0o500);
      expect(await world.store.runs.collect(which)).toEqual({
        pruned: [],
        unmade: [unmade],
        lost: [lost],
        notRemoved: [{ runId: pruned, why: expect.stringMatching(NOT_OPEN) as string }],
      });
      await chmod(conversation, 0o700);
    });
  });
});
