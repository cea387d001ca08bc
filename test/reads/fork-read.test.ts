import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { DEFAULT_PROTECTED_PATHS } from "../../src/core/tools/name-rules.js";
import { forkPointOf } from "../../src/reads/fork-read.js";
import { sha256 } from "../../src/store/disk/sha256.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";

afterEach(() => vi.restoreAllMocks());

/** A run that has written a file of which somebody guesses what it holds. */
async function forkable() {
  const world = await openRunWorld(twoNodePackage());
  const { store, projectRoot, packageId } = world;
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  const files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
  const result = { ok: true, path: "@project/a.md", sha256After: sha256("a guess") } as const;
  await files.calls.record("call-1", { result });
  const document = valueOf(await files.state.read()).bytes;
  const timestamp = "2026-01-02T03:04:05.000Z";
  await files.boundaries.keep({ visit: 1, nodeId: "draft", next: "review", timestamp, calls: 1 }, document);
  return { ...world, asked: { run: run.runId, visit: 1 } };
}

const compared = (status: string) => ({ ok: true, value: { files: [{ path: "a.md", status }] } });

test("a fork's project that is exchanged after it was permitted is not compared with another place", async () => {
  const { dir, store, projectRoot, asked } = await forkable();
  const elsewhere = join(dir, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "a.md"), "a guess");
  const permit = store.roots.permit.bind(store.roots);
  vi.spyOn(store.roots, "permit").mockImplementation((...of) => {
    const permitted = permit(...of);
    renameSync(projectRoot, `${projectRoot}.before`);
    symlinkSync(elsewhere, projectRoot);
    return permitted;
  });
  expect(await forkPointOf(store, asked)).toMatchObject(compared("differs"));
});

test("a file that the operator has closed is not compared with what a run has written", async () => {
  const { store, projectRoot, asked } = await forkable();
  writeFileSync(join(projectRoot, "a.md"), "a guess");
  expect(await forkPointOf(store, asked)).toMatchObject(compared("same"));
  const protectedPaths = { ...DEFAULT_PROTECTED_PATHS, notAccessible: ["a.md"] };
  const roots = store.roots.with({ protectedPaths });
  expect(await forkPointOf({ ...store, roots }, asked)).toMatchObject(compared("differs"));
});
