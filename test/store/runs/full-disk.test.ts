import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { openSessionFolder, readManifest, sessionDir } from "../../../src/store/runs/bundle-session.js";
import { defined } from "../../../src/core/defined.js";
import { findForkPoint } from "../../../src/store/runs/fork-point.js";
import { openStore } from "../../../src/store/store.js";
import { temporaryDirectory, validPackage, writePackage } from "../../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../../fakes/run-world.js";
import { sessionManifest } from "../../fakes/session-manifest.js";

/** Which calls fail, and with what. A full disk cannot be had otherwise. */
const disk = vi.hoisted(() => ({
  trouble: undefined as
    | { readonly call: string; readonly path: string; readonly code: string; readonly isOver?: () => boolean }
    | undefined,
}));

function failing(original: Record<string, unknown>, name: string) {
  const call = original[name] as (path: unknown, ...rest: unknown[]) => unknown;
  return (path: unknown, ...rest: unknown[]): unknown => {
    const { trouble } = disk;
    if (trouble?.call === name && String(path).includes(trouble.path) && trouble.isOver?.() !== true) {
      throw Object.assign(new Error(`${trouble.code}: injected, ${name} '/srv/secret'`), {
        code: trouble.code,
      });
    }
    return call(path, ...rest);
  };
}

vi.mock("node:fs", async (importOriginal) => {
  const original = await importOriginal<Record<string, unknown>>();
  return {
    ...original,
    ...Object.fromEntries(
      ["openSync", "mkdirSync", "writeFileSync"].map((name) => [name, failing(original, name)]),
    ),
  };
});

afterEach(() => {
  disk.trouble = undefined;
});

const MANIFEST = sessionManifest("r");

const PASSING = [
  ["ENOSPC", "Make room there."],
  ["EDQUOT", "Make room there."],
  ["EMFILE", "See to the machine: its disks, and what it lets a process open."],
  ["EIO", "See to the machine: its disks, and what it lets a process open."],
] as const;

test.each(PASSING)(
  "a session folder that a full machine cannot make (%s) is made later",
  async (code, remedy) => {
    const place = { outputRoot: await temporaryDirectory(), sessionId: "s" };
    disk.trouble = { call: "openSync", path: place.outputRoot, code };
    const message = `The session folder cannot be made (${code}). ${remedy}`;
    expect(await openSessionFolder(place, MANIFEST)).toEqual({
      ok: false,
      error: { code: "E_INTERNAL", message },
    });
    expect(readdirSync(place.outputRoot)).toEqual([]);
    disk.trouble = undefined;
    expect(await openSessionFolder(place, MANIFEST)).toEqual({ ok: true, value: MANIFEST });
  },
);

test("a session folder whose place is closed is the user's to see to, and is not tried again", async () => {
  const place = { outputRoot: await temporaryDirectory(), sessionId: "s" };
  disk.trouble = { call: "mkdirSync", path: place.outputRoot, code: "EROFS" };
  const message = "The session folder cannot be made (EROFS). Check the output directory's permissions.";
  expect(await openSessionFolder(place, MANIFEST)).toEqual({
    ok: false,
    error: { code: "E_PROJECT_INVALID", message },
  });
});

test.each(["EACCES", "EPERM"])(
  "a place that is not the worker's (%s) is said with whom it is to be open to",
  async (code) => {
    const place = { outputRoot: await temporaryDirectory(), sessionId: "s" };
    disk.trouble = { call: "mkdirSync", path: place.outputRoot, code };
    const opened = await openSessionFolder(place, MANIFEST);
    expect(opened).toMatchObject({ error: { code: "E_PROJECT_INVALID" } });
    expect(!opened.ok && opened.error.message).toContain(
      `cannot be made by user ${process.getuid?.()}, as whom the worker runs (${code})`,
    );
  },
);

test("a manifest that cannot be read now is not said to be damaged, nor its session to be somebody else's", async () => {
  const place = { outputRoot: await temporaryDirectory(), sessionId: "s" };
  await openSessionFolder(place, MANIFEST);
  disk.trouble = { call: "openSync", path: "manifest.json", code: "EMFILE" };
  const error = {
    code: "E_INTERNAL",
    message: expect.stringContaining("manifest.json cannot be read now (EMFILE)") as unknown,
  };
  expect(await readManifest(sessionDir(place))).toMatchObject({ ok: false, error });
  expect(await openSessionFolder(place, MANIFEST)).toMatchObject({ ok: false, error });
  mkdirSync(join(place.outputRoot, "other"));
  const missing = { message: "{session-folder}/manifest.json is missing or damaged." };
  disk.trouble = undefined;
  expect(await readManifest(sessionDir({ ...place, sessionId: "other" }))).toMatchObject({ error: missing });
});

test.each(PASSING)(
  "an artifacts directory that a full machine cannot make (%s) is made later",
  async (code, remedy) => {
    const { store, projectRoot, packageId } = await openRunWorld(validPackage());
    const request = { projectRoot, packageId, activeAgentId: "author" };
    disk.trouble = { call: "mkdirSync", path: join(projectRoot, "artifacts"), code };
    const message = `The project's artifacts directory cannot be made (${code}). ${remedy}`;
    expect(await store.runs.createRun(request)).toEqual({
      ok: false,
      error: { code: "E_INTERNAL", message },
    });
    disk.trouble = undefined;
    expect(await store.runs.createRun(request)).toMatchObject({ ok: true });
  },
);

test.each(["ENOSPC", "EDQUOT"])(
  "what makes room needs none (%s): runs are pruned, and the index is tidied another time",
  async (code) => {
    const { store, projectRoot, packageId } = await openRunWorld(validPackage());
    const create = async () => {
      const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
      await store.runs.setPhase(run, "completed", new Date());
      return run;
    };
    const [gone, stays] = [await create(), await create()];
    const index = join(store.dir, "projects", gone.projectId, "runs.jsonl");
    const lines = () => readFileSync(index, "utf8").split("\n").length - 1;
    const before = lines();
    disk.trouble = { call: "openSync", path: ".tmp-runs.jsonl", code };
    expect(await store.runs.sweep()).toEqual({ ended: [], notRemoved: [] });
    expect(await store.runs.prune(gone, 1, new Date())).toBe(true);
    await store.runs.collect({ before: new Date(), stays: false });
    expect(lines()).toBe(before + 1);
    disk.trouble = undefined;
    await store.runs.sweep();
    expect(lines()).toBe(2); // of the run that was pruned, and of the other one
    expect((await store.runs.listAllRuns()).map(({ runId }) => runId)).toEqual([stays.runId]);
  },
);

test("the last run of a disk without a block to spare is pruned: what is derived of it makes room, and it needs no trash", async () => {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const run = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  await store.runs.setPhase(run, "completed", new Date());
  const projectDir = join(store.dir, "projects", run.projectId);
  const derived = join(projectDir, "runs", run.runId, "calls.jsonl.index");
  writeFileSync(derived, "");
  disk.trouble = { call: "writeFileSync", path: "", code: "ENOSPC", isOver: () => !existsSync(derived) };
  expect(await store.runs.prune(run, 1, new Date())).toBe(true);
  expect(existsSync(derived)).toBe(false);

  const other = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }));
  await store.runs.setPhase(other, "completed", new Date());
  disk.trouble = { call: "mkdirSync", path: "/trash", code: "ENOSPC" };
  rmSync(join(projectDir, "trash"), { recursive: true });
  expect(await store.runs.prune(other, 1, new Date())).toBe(true);
  expect(readdirSync(join(projectDir, "runs"))).toEqual([]);
});

test.each(["EMFILE", "EIO", "ESTALE"])(
  "an installed package that cannot be read now (%s) is not said to be invalid",
  async (code) => {
    const { store, packageId } = await openRunWorld(validPackage());
    const cold = await openStore(store.dir);
    disk.trouble = { call: "openSync", path: "workflow.graph.json", code };
    const message: unknown = expect.stringContaining(`workflow.graph.json cannot be read now (${code})`);
    expect(await cold.packages.open(packageId)).toMatchObject({ error: { code: "E_INTERNAL", message } });
    disk.trouble = undefined;
    expect(await cold.packages.open(packageId)).toMatchObject({ ok: true });
  },
);

test("a fork of a fork is told that the files of the runs before cannot be read now, not that there are none", async () => {
  const world = await openRunWorld(validPackage());
  const begun = async (from?: { runId: string; visit: number }) => {
    const begin = from && { from, document, variables: {} };
    const run = valueOf(
      await world.store.runs.createRun({ ...world, activeAgentId: "author", ...defined({ begin }) }),
    );
    const files = valueOf(await world.store.runs.openFiles(run.projectId, run.runId));
    const { bytes } = valueOf(await files.state.read());
    await files.boundaries.keepBeginning({ next: "draft", timestamp: MANIFEST.createdAt }, bytes);
    return { runId: run.runId, bytes };
  };
  let document: Uint8Array = Buffer.from("");
  const { runId: first, bytes } = await begun();
  document = bytes;
  const { runId: second } = await begun({ runId: first, visit: 0 });
  const { runs } = await openStore(world.store.dir);
  for (const path of [`${first}/boundaries.jsonl`, `${first}/calls.jsonl`]) {
    disk.trouble = { call: "openSync", path, code: "EMFILE" };
    await expect(findForkPoint(runs, { runId: second })).rejects.toThrow("EMFILE");
  }
  disk.trouble = undefined;
  expect(await findForkPoint(runs, { runId: second })).toMatchObject({ ok: true });
});

test("a package that cannot be read now is not unknown by its name, nor an earlier version of it the newest", async () => {
  const { store, dir, packageId: old } = await openRunWorld(validPackage());
  const files = validPackage();
  const newer = { ...files, "bmad.json": { ...files["bmad.json"], version: "2.0.0" } };
  const { packageId } = valueOf(await store.packages.install(await writePackage(join(dir, "newer"), newer)));
  const named = (name: string) => store.packages.resolve(name);
  expect(await named("Tiny Story")).toEqual({ ok: true, value: packageId });
  disk.trouble = { call: "openSync", path: packageId, code: "EIO" };
  const message: unknown = expect.stringContaining(`${packageId}/bmad.json cannot be read now (EIO)`);
  for (const name of ["Tiny Story", "Tiny Story@2.0.0"])
    expect(await named(name)).toMatchObject({ error: { code: "E_INTERNAL", message } });
  expect(await named("another")).toMatchObject({ error: { code: "E_PACKAGE_NOT_FOUND" } });
  expect((await store.packages.list()).map((each) => each.packageId)).toEqual([old]);
});
