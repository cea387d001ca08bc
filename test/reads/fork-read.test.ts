import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { forkPointOf } from "../../src/reads/fork-read.js";
import { sha256 } from "../../src/store/disk/sha256.js";
import { openRunWorld, valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";

afterEach(() => vi.restoreAllMocks());

test("a fork's project that is exchanged after it was permitted is not compared with another place", async () => {
  const { dir, store, projectRoot, packageId } = await openRunWorld(twoNodePackage());
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  const files = valueOf(await store.runs.openFiles(run.projectId, run.runId));
  const result = { ok: true, path: "@project/a.md", sha256After: sha256("a guess") } as const;
  await files.calls.record("call-1", { result });
  const document = valueOf(await files.state.read()).bytes;
  const timestamp = "2026-01-02T03:04:05.000Z";
  await files.boundaries.keep({ visit: 1, nodeId: "draft", next: "review", timestamp, calls: 1 }, document);
  const elsewhere = join(dir, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "a.md"), "a guess");
  const permit = store.roots.permit.bind(store.roots);
  vi.spyOn(store.roots, "permit").mockImplementation((...asked) => {
    const permitted = permit(...asked);
    renameSync(projectRoot, `${projectRoot}.before`);
    symlinkSync(elsewhere, projectRoot);
    return permitted;
  });
  const point = await forkPointOf(store, { run: run.runId, visit: 1 });
  expect(JSON.stringify(point)).not.toContain('"same"');
});
