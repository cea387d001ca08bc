import type * as fs from "node:fs";
import { mkdirSync, renameSync, rmdirSync, symlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApplicationFailure } from "@temporalio/activity";
import { permittedProject } from "../../../src/activities/run-scope.js";
import { listPackage } from "../../../src/store/packages/package-files.js";
import { resolveProject } from "../../../src/store/runs/project-id.js";
import { staysInProject } from "../../../src/tools/bundle/bundle-runs.js";
import { validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../../fakes/run-world.js";

/** What the system says of a directory whose server is away, as of sshfs or of a share; without special rights none can be mounted. */
const mounted = vi.hoisted(() => {
  const state: {
    away: { readonly path: string; readonly code: string } | undefined;
    /** What `statfs` says of a file system. */
    kind: { readonly type?: number };
  } = { away: undefined, kind: {} };
  const look = (path: unknown): void => {
    const { away } = state;
    if (away === undefined || !`${String(path)}/`.startsWith(`${away.path}/`)) return;
    throw Object.assign(new Error(`${away.code}: no answer, stat '${String(path)}'`), {
      code: away.code,
      path,
    });
  };
  return { state, look };
});

vi.mock("node:fs", async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  const looking =
    <A extends readonly unknown[], R>(call: (...args: A) => R) =>
    (...args: A): R => (mounted.look(args[0]), call(...args));
  const realpathSync = Object.assign(looking(original.realpathSync), {
    native: looking(original.realpathSync.native),
  });
  const [statSync, lstatSync] = [original.statSync, original.lstatSync].map((call) =>
    looking(call as (...args: readonly unknown[]) => unknown),
  );
  const statfsSync = (path: string) => Object.assign(original.statfsSync(path), mounted.state.kind);
  const openSync = looking(original.openSync);
  return { ...original, realpathSync, statSync, lstatSync, statfsSync, openSync };
});

let world: RunWorld;
beforeEach(async () => {
  world = await openRunWorld(validPackage());
});
afterEach(() => {
  mounted.state.away = undefined;
  mounted.state.kind = {};
});

/** Of a mount; of any file system; of a machine. */
const AWAY = ["ENOTCONN", "EHOSTDOWN", "ECONNABORTED", "ESTALE", "EIO", "ETIMEDOUT", "ENOMEM"];

test.each(AWAY)("a project that cannot be looked at now (%s) is not said to be gone", async (code) => {
  const { store, projectRoot } = world;
  mounted.state.away = { path: projectRoot, code };
  const unread = {
    ok: false,
    error: { code: "E_INTERNAL", message: expect.stringContaining(code) as string },
  };
  expect(store.roots.permit(projectRoot, "write")).toMatchObject(unread);
  expect(store.roots.permit(join(projectRoot, "later"), "write", { kind: "maybe" })).toMatchObject(unread);
  expect(store.roots.inspect(projectRoot)).toMatchObject(unread);
  expect(await resolveProject(projectRoot)).toMatchObject(unread);
  expect(() => staysInProject(projectRoot, join(projectRoot, "out"))).toThrow(code);
  mounted.state.away = undefined;
  expect(store.roots.permit(projectRoot, "write")).toMatchObject({ ok: true });
});

test.runIf(process.platform === "linux")(
  "a way to a project that cannot be walked now is named by its path",
  () => {
    mounted.state.away = { path: "/proc/self/fd", code: "EMFILE" };
    const message: unknown = expect.stringContaining(`${world.projectRoot} cannot be read now (EMFILE)`);
    expect(world.store.roots.permit(world.projectRoot, "write")).toMatchObject({ error: { message } });
  },
);

test("a run whose project's mount is away for a moment does not end at it", async () => {
  const { store, projectRoot } = world;
  const activeAgentId = "author";
  const { packageId } = world;
  const made = valueOf(await store.runs.createRun({ projectRoot, packageId, activeAgentId }));
  const { runId, projectId, workflowRef } = made;
  const run = { runId, projectId, packageId, workflowRef, activeAgentId, storeId: store.storeId };
  mounted.state.away = { path: projectRoot, code: "ENOTCONN" };
  const failure: unknown = await permittedProject(store, run).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ type: "E_INTERNAL", nonRetryable: false });
  mounted.state.away = undefined;
  expect(await permittedProject(store, run)).toMatchObject({ path: projectRoot });
});

test("a package that cannot be looked at now is not said to be none", async () => {
  const dir = join(world.store.dir, "packages", world.packageId);
  mounted.state.away = { path: dir, code: "EIO" };
  await expect(listPackage(dir)).rejects.toThrow("cannot be read now (EIO)");
  mounted.state.away = undefined;
  expect(await listPackage(dir)).toMatchObject({ findings: [], complete: true });
});

test("a home or a place of Interlock's own that is away keeps nobody from another project", async () => {
  const own = join(world.dir, "own");
  await mkdir(own);
  const roots = world.store.roots.with({ privatePaths: [own] });
  mounted.state.away = { path: own, code: "ENOTCONN" };
  expect(roots.permit(world.projectRoot, "write")).toMatchObject({ ok: true });
});

test.each([
  ["FUSE", 0x6573_5546],
  ["SMB", 0xfe53_4d42],
  ["9P", 0x0102_1997],
])("a project on a file system that numbers it anew (%s) is the one that was registered", (_name, type) => {
  const { store, projectRoot } = world;
  renameSync(projectRoot, `${projectRoot}-before`); // it still has its number
  mkdirSync(projectRoot);
  const exchanged = store.roots.permit(projectRoot, "write");
  expect(exchanged).toMatchObject({ ok: false, error: { code: "E_SANDBOX_VIOLATION" } });
  mounted.state.kind = { type };
  expect(store.roots.permit(projectRoot, "write")).toMatchObject({ ok: true });
  rmdirSync(projectRoot);
  expect(store.roots.permit(projectRoot, "write")).toMatchObject({ error: { code: "E_PROJECT_INVALID" } });
  symlinkSync(`${projectRoot}-before`, projectRoot);
  const linked = store.roots.permit(projectRoot, "write");
  expect(linked).toMatchObject({ ok: false, error: { code: "E_SANDBOX_VIOLATION" } });
});

test("a project in a container's layers is not the one that was registered where another directory has taken its place", () => {
  const { store, projectRoot } = world;
  renameSync(projectRoot, `${projectRoot}-before`);
  mkdirSync(projectRoot);
  mounted.state.kind = { type: 0x794c_7630 };
  const exchanged = store.roots.permit(projectRoot, "write");
  expect(exchanged).toMatchObject({ ok: false, error: { code: "E_SANDBOX_VIOLATION" } });
});
