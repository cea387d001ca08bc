// @module-tag slow
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FAILPOINTS, type FailpointName } from "../../src/core/failpoint.js";
import type { RunMetadata } from "../../src/store/runs/run-metadata.js";
import { openStore } from "../../src/store/store.js";
import { sharedBuild } from "../crash/shared-build.js";
import type { Arming } from "../crash/armed-failpoint.js";
import { doTask } from "../crash/store-task.js";
import { writePackage } from "../fakes/package-fixture.js";
import { DECISIONS, lengthOfList, makeLongList } from "../fakes/long-lists.js";
import { namesIn, valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { temporaryDirectory } from "./harness.js";

const NOW = new Date("2026-03-04T05:06:07.000Z");
/** What a pruning passes: its own boundaries, those of the index's lines, and those of the index made anew. */
const OF_PRUNING = [
  "log.before-line",
  "log.line-written",
  "file.temporary-written",
  "file.renamed",
  ...FAILPOINTS.filter((name) => name.startsWith("prune.")),
] as const;

const build = sharedBuild();

/** A store with four runs that are over, three of which are to go, and one that goes on. */
async function scene() {
  const dir = await temporaryDirectory();
  const store = await openStore(join(dir, "store"));
  const projectRoot = join(dir, "project");
  await mkdir(projectRoot);
  const { packageId } = valueOf(
    await store.packages.install(await writePackage(join(dir, "package"), twoNodePackage())),
  );
  const runs: RunMetadata[] = [];
  for (let digit = 1; digit <= 5; digit += 1) {
    const runId = `${String(digit).repeat(8)}-2222-4333-8444-555555555555`;
    const request = { projectRoot, packageId, activeAgentId: "author", runId };
    const run = valueOf(await store.runs.createRun(request, NOW));
    const files = valueOf(await store.runs.openFiles(run.projectId, runId));
    await files.audit.record({ kind: "run.phase", id: "1" }, NOW);
    await makeLongList(files);
    await store.runs.setPhase(run, digit === 5 ? "running" : "completed", NOW);
    runs.push(run);
  }
  const projectDir = join(store.dir, "projects", runs[0]?.projectId ?? "");
  return { dir, storeDir: store.dir, projectDir, going: runs.slice(0, 3), staying: runs.slice(3) };
}

/** What an operator sees of the runs: by any process, from the beginning. */
async function seen(storeDir: string) {
  return (await (await openStore(storeDir)).runs.listAllRuns()).map(({ runId, phase }) => [runId, phase]);
}

/** How long the decision logs of runs are, with what was moved out of their documents. */
async function listLengths(storeDir: string, runs: readonly RunMetadata[]): Promise<readonly number[]> {
  const store = await openStore(storeDir);
  return Promise.all(
    runs.map(async ({ projectId, runId }) =>
      lengthOfList(valueOf(await store.runs.openFiles(projectId, runId))),
    ),
  );
}

/** Does something once for each hit of a failpoint, killed there, until it comes through. Returns how often, and what came of it. */
async function atEachHit(
  name: FailpointName,
  act: (arming: Arming) => Promise<unknown>,
): Promise<{ readonly kills: number; readonly result: unknown }> {
  for (let hit = 1; ; hit += 1) {
    const dir = await temporaryDirectory();
    const result = await act({ hitsFile: join(dir, "hits"), at: { name, hit, action: "kill" } });
    if (result !== undefined) return { kills: hit - 1, result };
  }
}

describe("whoever prunes runs, killed", () => {
  test.each(OF_PRUNING)(
    "at any hit of %s leaves each run whole or gone, and the next one ends it",
    async (name) => {
      const { kills, result } = await atEachHit(name, async (arming) => {
        const { storeDir, projectDir, going, staying } = await scene();
        const before = await namesIn(join(projectDir, "runs"));
        const of = (names: readonly string[], run: string) =>
          names.filter((path) => path.startsWith(run) && !path.endsWith(".lock"));
        const task = { kind: "prune", storeDir, runs: going } as const;
        const first = await build.runTask(task, arming);
        const listed = (await seen(storeDir)).map(([runId = ""]) => runId);
        const left = await namesIn(join(projectDir, "runs"));
        for (const runId of listed) expect(of(left, runId)).toEqual(of(before, runId));
        expect(await doTask(task)).toEqual({
          pruned: going.map(({ runId }) => runId).filter((runId) => listed.includes(runId)),
        });
        expect(await seen(storeDir)).toEqual(
          staying.map(({ runId }, index) => [runId, index === 0 ? "completed" : "running"]),
        );
        const names = await namesIn(projectDir);
        expect(names.filter((path) => going.some(({ runId }) => path.includes(runId)))).toEqual([]);
        expect(names.filter((path) => path.includes(".tmp-"))).toEqual([]);
        for (const { runId } of staying) {
          const there = await namesIn(join(projectDir, "runs"));
          expect(of(there, runId)).toEqual(of(before, runId));
        }
        return first;
      });
      expect(kills).toBeGreaterThan(0);
      expect(result).toMatchObject({ pruned: expect.any(Array) as unknown });
    },
  );

  test("beside another one, and beside runs that are made, takes nothing that stays", async () => {
    const { dir, storeDir, going, staying } = await scene();
    const arming = { hitsFile: join(dir, "hits") };
    const task = { kind: "prune", storeDir, runs: going } as const;
    const { packageId = "" } = going[0] ?? {};
    const request = { projectRoot: join(dir, "project"), packageId, activeAgentId: "author" };
    const create = { kind: "create", storeDir, request } as const;
    const results = await Promise.all([
      build.runTask(task, arming),
      build.runTask(task, arming),
      build.runTask({ kind: "collect", storeDir }, arming),
      build.runTask(create, arming),
      build.runTask(create, arming),
    ]);
    expect(results.slice(3)).toEqual([
      expect.objectContaining({ ok: true }),
      expect.objectContaining({ ok: true }),
    ]);
    const pruned = results.slice(0, 2).flatMap((result) => (result as { pruned: string[] }).pruned);
    expect(pruned.sort()).toEqual(going.map(({ runId }) => runId).sort());
    const runs = await seen(storeDir);
    expect(runs).toHaveLength(staying.length + 2);
    expect(runs.map(([runId]) => runId)).toEqual(expect.arrayContaining(staying.map(({ runId }) => runId)));
    expect(await listLengths(storeDir, staying)).toEqual(staying.map(() => DECISIONS));
  });
});

describe("whoever collects garbage, killed", () => {
  test.each(["prune.moved", "prune.removed"] as const)(
    "at any hit of %s leaves the rest to the next one",
    async (name) => {
      const { kills } = await atEachHit(name, async (arming) => {
        const { dir, storeDir, projectDir, going, staying } = await scene();
        const prune = { kind: "prune", storeDir, runs: going.slice(0, 1) } as const;
        const at = { name: "prune.unlisted", hit: 1, action: "kill" } as const;
        expect(await build.runTask(prune, { hitsFile: join(dir, "pruned"), at })).toBeUndefined();
        await mkdir(join(projectDir, "runs", ".tmp-cut-short", "state"), { recursive: true });
        const collect = { kind: "collect", storeDir } as const;
        const first = await build.runTask(collect, arming);
        await doTask(collect);
        const names = await namesIn(projectDir);
        expect(names.filter((path) => path.includes(going[0]?.runId ?? "none"))).toEqual([]);
        expect(names.filter((path) => path.includes(".tmp-"))).toEqual([]);
        const left = [...going.slice(1), ...staying];
        expect((await seen(storeDir)).map(([runId]) => runId)).toEqual(left.map(({ runId }) => runId));
        expect(await listLengths(storeDir, left)).toEqual(left.map(() => DECISIONS));
        return first;
      });
      expect(kills).toBe(2); // what was pruned, and what was being made
    },
  );
});
