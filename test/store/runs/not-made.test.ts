import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import {
  type SessionManifest,
  openSessionFolder,
  readManifest,
} from "../../../src/store/runs/bundle-session.js";
import { temporaryDirectory, validPackage } from "../../fakes/package-fixture.js";
import { openRunWorld } from "../../fakes/run-world.js";

/** Which calls fail, and with what. A full disk cannot be had otherwise. */
const disk = vi.hoisted(() => ({
  trouble: undefined as { readonly call: string; readonly path: string; readonly code: string } | undefined,
}));

function failing(original: Record<string, unknown>, name: string) {
  const call = original[name] as (path: unknown, ...rest: unknown[]) => unknown;
  return (path: unknown, ...rest: unknown[]): unknown => {
    const { trouble } = disk;
    if (trouble?.call === name && String(path).includes(trouble.path)) {
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
    ...Object.fromEntries(["openSync", "mkdirSync"].map((name) => [name, failing(original, name)])),
  };
});

vi.mock("node:fs/promises", async (importOriginal) => {
  const original = await importOriginal<Record<string, unknown>>();
  const mkdir = failing(original, "mkdir");
  return { ...original, mkdir: async (path: unknown, ...rest: unknown[]) => mkdir(path, ...rest) };
});

afterEach(() => {
  disk.trouble = undefined;
});

const MANIFEST: SessionManifest = {
  sessionId: "s",
  runId: "r",
  workflow: "w",
  agent: null,
  status: "running",
  createdAt: "2026-01-02T03:04:05.000Z",
  updatedAt: "2026-01-02T03:04:05.000Z",
  outputs: [],
  files: [],
};

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
  disk.trouble = { call: "mkdir", path: place.outputRoot, code: "EROFS" };
  const message = "The session folder cannot be made (EROFS). Check the output directory's permissions.";
  expect(await openSessionFolder(place, MANIFEST)).toEqual({
    ok: false,
    error: { code: "E_PROJECT_INVALID", message },
  });
});

test("a manifest that cannot be read now is not said to be damaged, nor its session to be somebody else's", async () => {
  const place = { outputRoot: await temporaryDirectory(), sessionId: "s" };
  await openSessionFolder(place, MANIFEST);
  disk.trouble = { call: "openSync", path: "manifest.json", code: "EMFILE" };
  const error = {
    code: "E_INTERNAL",
    message: expect.stringContaining("manifest.json cannot be read now (EMFILE)") as unknown,
  };
  expect(await readManifest(place)).toMatchObject({ ok: false, error });
  expect(await openSessionFolder(place, MANIFEST)).toMatchObject({ ok: false, error });
  mkdirSync(join(place.outputRoot, "other"));
  const missing = { message: "{session-folder}/manifest.json is missing or damaged." };
  disk.trouble = undefined;
  expect(await readManifest({ ...place, sessionId: "other" })).toMatchObject({ error: missing });
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
