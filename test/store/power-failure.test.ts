import { closeSync, existsSync, mkdirSync, openSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startStatement } from "../../src/contract/signed.js";
import { createInitialState } from "../../src/core/graph-state/initial-state.js";
import { withoutHistory } from "../../src/core/graph-state/walk.js";
import type { Notice } from "../../src/core/notify/notice.js";
import { backupStore } from "../../src/store/backup/backup-store.js";
import { restoreStore } from "../../src/store/backup/restore-store.js";
import { collectGarbage } from "../../src/store/collect-garbage.js";
import { saveFile } from "../../src/store/disk/save-file.js";
import { writeOwnStream } from "../../src/store/disk/own-file.js";
import { NO_LOCK } from "../../src/store/disk/fenced-lock.js";
import {
  type SessionManifest,
  markSessionFolder,
  openSessionFolder,
  recordSessionFile,
  sessionDir,
} from "../../src/store/runs/bundle-session.js";
import { copyEarlierFiles } from "../../src/store/runs/earlier-files.js";
import { RunIndex } from "../../src/store/runs/run-index.js";
import type { RunFiles } from "../../src/store/runs/run-files.js";
import { StartSignatures } from "../../src/store/start-signatures.js";
import { type Store, openStore } from "../../src/store/store.js";
import { onSessionPlace } from "../../src/tools/bundle/held-folder.js";
import { makeLongList } from "../fakes/long-lists.js";
import { sessionManifest } from "../fakes/session-manifest.js";
import { writePackage } from "../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";

interface Watch {
  folder: string;
  fails: string;
  atRemovals: (readonly string[])[];
  readonly unsynced: () => readonly string[];
}

/** What of this process a power failure could take (`test/crash/watch-syncs.cjs`). */
const power = await vi.hoisted(async () => {
  const { createRequire } = await import("node:module");
  return createRequire(import.meta.url)("../crash/watch-syncs.cjs") as Watch;
});

const RUN_ID = "1b4e28ba-2fa1-4d2b-883f-0016d3cca427";
const START = withoutHistory(createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" }));
const START_OF_RUN = startStatement({ workflow: "graphRun", workflowId: "story-7", input: {} });
const MANIFEST = sessionManifest(RUN_ID);

let world: RunWorld;
beforeEach(async () => {
  world = await openRunWorld(twoNodePackage());
  await writePackage(join(world.dir, "other"), twoNodePackage({ "note.md": "another one" }));
  power.folder = world.dir;
});
afterEach(() => {
  Object.assign(power, { folder: "", fails: "" });
  power.atRemovals.length = 0;
});

async function newRun(store: Store): Promise<RunFiles> {
  const { projectRoot, packageId } = world;
  const request = { projectRoot, packageId, activeAgentId: "author", runId: RUN_ID };
  const { projectId } = valueOf(await store.runs.createRun(request));
  return valueOf(await store.runs.openFiles(projectId, RUN_ID));
}

async function beginSession(folder: string): Promise<SessionManifest> {
  const path = join(world.dir, folder, "s");
  return valueOf(await onSessionPlace({ path }, (place) => openSessionFolder(place, MANIFEST)));
}

/** As another process has the store. */
const again = (): Promise<Store> => openStore(world.store.dir);

describe("what is reported is on disk by then, bytes and names, when", () => {
  const cases: Record<string, () => Promise<unknown>> = {
    "a store is made in new folders": () => openStore(join(world.dir, "new", "folder", "store")),
    "a package is installed": async () =>
      valueOf(await world.store.packages.install(join(world.dir, "package"))),
    "a run is made": () => newRun(world.store),
    "a signed start is used": async () => {
      const signatures = await StartSignatures.open(world.store);
      await signatures.admits(START_OF_RUN, await signatures.sign(START_OF_RUN), "e-1");
    },
    "a notice is kept": async () => (await newRun(world.store)).notices.keep(1, "ops", {} as Notice),
    "a session is begun in new folders": () => beginSession("out/sessions"),
    "a backup is taken into new folders": () =>
      backupStore(world.store.dir, join(world.dir, "disk", "backups", "daily")),
    "a store is restored into new folders": async () => {
      await backupStore(world.store.dir, join(world.dir, "backup"));
      await restoreStore(join(world.dir, "backup"), join(world.dir, "other", "store"));
    },
    "a file is saved for a user": () =>
      saveFile(join(world.dir, "run.zip"), async (path) => {
        await pipeline(Readable.from(["all of it"]), writeOwnStream(path));
      }),
  };
  test.each(Object.entries(cases))("%s", async (_, act) => {
    await act();
    expect(power.unsynced()).toEqual([]);
  });
});

describe("what somebody has written who died before its name was durable is so before it counts:", () => {
  const cases: Record<string, readonly [fails: string, act: (store: Store) => Promise<unknown>]> = {
    "an installed package": [
      "packages",
      async (store) => valueOf(await store.packages.install(join(world.dir, "other"))),
    ],
    "the folder of the first packages": [
      "second",
      async () => {
        const store = await sound(() => openStore(join(world.dir, "second")));
        return valueOf(await store.packages.install(join(world.dir, "package")));
      },
    ],
    "the folders of a project's first run": ["projects", newRun],
    "the session of a bundle": ["sessions", () => beginSession("sessions")],
    "what a run was begun with": [
      RUN_ID,
      async (store) => (await filesOf(store)).request.keep("graph", { runId: RUN_ID }),
    ],
    "what a run was begun with, when it goes on": [
      RUN_ID,
      async (store) => (await filesOf(store)).request.keep("graph", { runId: RUN_ID, resume: true }),
    ],
    "the graph state of a run": [
      RUN_ID,
      async (store) => (await filesOf(store)).graphState.keep({ state: START, change: 1 }),
    ],
    "the entries that a fork takes over": [
      "logs",
      async (store) => {
        const fork = await filesOf(store);
        const { frontmatter } = valueOf(await source.state.read());
        return valueOf(await copyEarlierFiles(source, fork, frontmatter));
      },
    ],
    "a file of a session, and that it is over": [
      "s",
      async () => {
        const place = { outputRoot: join(world.dir, "sessions"), sessionId: "s" };
        await sound(() => beginSession("sessions"));
        const file = { path: "out.md", size: 1, sha256: "0".repeat(64), savedAt: MANIFEST.createdAt };
        const marked = () => markSessionFolder(sessionDir(place), "complete", new Date(), NO_LOCK);
        if (power.fails === "") await recordSessionFile(sessionDir(place), file, NO_LOCK);
        else await expect(recordSessionFile(sessionDir(place), file, NO_LOCK)).rejects.toThrow("EIO");
        return valueOf(await marked());
      },
    ],
    "the root of a project": ["store", (store) => store.roots.add(join(world.dir, "other"), "read")],
    "the secret of signed starts": ["store", (store) => StartSignatures.open(store)],
    "what a signed start was used for": [
      "starts",
      async (store) => {
        const signatures = await StartSignatures.open(store);
        const admit = async (nonce: string): Promise<boolean> =>
          signatures.admits(START_OF_RUN, await signatures.sign(START_OF_RUN, nonce.repeat(32)), "e-1");
        await sound(() => admit("0"));
        expect(await admit("1")).toBe(true);
      },
    ],
  };
  let source: RunFiles;

  /** On a disk that does not fail. */
  async function sound<T>(act: () => Promise<T>): Promise<T> {
    const { fails } = power;
    power.fails = "";
    const made = await act();
    power.fails = fails;
    return made;
  }

  const filesOf = (store: Store): Promise<RunFiles> => sound(() => newRun(store));

  test.each(Object.entries(cases))("%s", async (_, [fails, act]) => {
    const other = { projectRoot: world.projectRoot, packageId: world.packageId, activeAgentId: "author" };
    if (fails === "logs") {
      const { projectId, runId } = valueOf(await world.store.runs.createRun(other));
      source = valueOf(await world.store.runs.openFiles(projectId, runId));
      await makeLongList(source);
    }
    power.fails = fails;
    await expect(act(world.store)).rejects.toThrow("EIO");
    expect(power.unsynced()).not.toEqual([]);
    power.fails = "";
    await act(await again());
    expect(power.unsynced()).toEqual([]);
  });
});

test("the index of runs that somebody made who died before it had a line is there by its name before a run is", async () => {
  const dir = join(world.dir, "projects");
  mkdirSync(dir);
  closeSync(openSync(join(dir, "runs.jsonl"), "a"));
  const index = new RunIndex(dir);
  await newRun(world.store);
  await index.add(valueOf(await world.store.runs.findRun(RUN_ID)));
  expect(power.unsynced()).not.toContain("projects/runs.jsonl");
});

describe("nothing is removed before it is on disk", () => {
  test("that its run is pruned, where who said so died first", async () => {
    const { projectId } = await endedRun();
    power.fails = "runs.jsonl";
    await expect(world.store.runs.prune({ projectId, runId: RUN_ID }, 1, new Date())).rejects.toThrow("EIO");
    power.fails = "";
    const store = await again();
    expect((await store.runs.sweep()).ended).toEqual([RUN_ID]);
    expect(power.atRemovals).toEqual([]);
  });

  test("that its run is pruned, where garbage is collected", async () => {
    const { projectId } = await endedRun();
    power.fails = "runs.jsonl";
    await expect(world.store.runs.prune({ projectId, runId: RUN_ID }, 1, new Date())).rejects.toThrow("EIO");
    power.fails = "";
    const garbage = await collectGarbage(await again(), { before: new Date(), stays: false });
    expect(garbage.runs.pruned).toEqual([RUN_ID]);
    expect(power.atRemovals).toEqual([]);
  });

  test("which pieces a backup has now, where who took it died first", async () => {
    const backup = join(world.dir, "backup");
    const { projectId } = await endedRun();
    await backupStore(world.store.dir, backup);
    const manifest = join(backup, "manifest.json");
    renameSync(manifest, `${manifest}-new`);
    renameSync(`${manifest}-new`, manifest);
    const piece = join(backup, "parts", "projects", projectId, "runs", RUN_ID, "0".repeat(64));
    writeFileSync(piece, "of the backup before");
    expect(power.unsynced()).toEqual(["backup/manifest.json"]);
    power.atRemovals.length = 0;
    await backupStore(world.store.dir, backup);
    expect(existsSync(piece)).toBe(false);
    expect(power.atRemovals).toEqual([]);
  });

  async function endedRun(): Promise<{ projectId: string }> {
    const { projectRoot, packageId } = world;
    const request = { projectRoot, packageId, activeAgentId: "author", runId: RUN_ID };
    const run = valueOf(await world.store.runs.createRun(request));
    await world.store.runs.setPhase(run, "completed", new Date());
    return run;
  }
});
