import type * as NodeFs from "node:fs";
import { appendFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { quickTurns } from "../../../src/activities/quick-turns.js";
import { replaceByCopy } from "../../../src/store/disk/append-log.js";
import { writeFileAtomic } from "../../../src/store/disk/atomic-file.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";
import { syncedTogether } from "../../../src/store/disk/sync-together.js";
import { placeRun } from "../../../src/store/runs/place-run.js";
import { RunFiles } from "../../../src/store/runs/run-files.js";
import { RunIndex } from "../../../src/store/runs/run-index.js";
import { writeFile } from "../../../src/tools/files/write.js";
import { openWorkspace } from "../../../src/tools/sandbox/workspace.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { TURN_INPUT, turnResult } from "../../fakes/turn-input.js";

/** What this process has done to files, in order; a name is made refusing by `fails`. */
const disk = vi.hoisted(() => ({ done: [] as string[], names: new Map<number, string>(), fails: "" }));
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof NodeFs>();
  const traced = {
    ...fs,
    openSync: (...args: Parameters<typeof fs.openSync>) => {
      const fd = fs.openSync(...args);
      const path = String(args[0]);
      disk.names.set(fd, path.startsWith("/proc/self/fd/") ? fs.realpathSync(path) : path);
      return fd;
    },
    fsync: (fd: number, done: NodeFs.NoParamCallback) => {
      const name = nameOf(disk.names.get(fd) ?? "");
      if (name === disk.fails)
        return done(Object.assign(new Error("EIO: i/o error"), { code: "EIO", errno: -5 }));
      disk.done.push(`sync ${name}`);
      return fs.fsync(fd, done);
    },
    renameSync: (from: string, to: string) => {
      disk.done.push(`rename ${nameOf(to)}`);
      fs.renameSync(from, to);
    },
  };
  return { ...traced, default: traced };
});

function nameOf(path: string): string {
  return basename(path)
    .replace(/^\.tmp-(.+)-[0-9a-f]{12}$/, "temporary $1")
    .replace(/^\.il-[0-9a-f]{16}$/, "temporary file");
}

const LISTED = {
  runId: "1b4e28ba-2fa1-4d2b-883f-0016d3cca427",
  packageId: "two-nodes-1.0.0-406bbff64c0322cf",
  workflowRef: "two-nodes",
  activeAgentId: "author",
  phase: "idle",
  createdAt: "2026-01-02T03:04:05.000Z",
  lastUpdatedAt: "2026-01-02T03:04:05.000Z",
} as const;
const USER = { type: "user", nodeId: "a", text: "blue" } as const;

let dir: string;
let files: RunFiles;
beforeEach(async () => {
  dir = await temporaryDirectory();
  files = new RunFiles(dir);
  await Promise.all(
    ["conversation", "state/logs"].map((name) => mkdir(join(dir, name), { recursive: true })),
  );
  disk.fails = "";
  disk.done.length = 0;
  await Promise.all([say("first"), tell("first"), files.calls.plan("first", {})]);
  disk.done.length = 0;
});

const say = (id: string) => files.conversation("visit-1").append([{ ...USER, id }]);
const tell = (id: string) =>
  files.audit.record({ kind: "user.input", id, nodeId: "a" }, new Date("2026-01-02T03:04:05.000Z"));
const syncs = () => disk.done.filter((each) => each.startsWith("sync "));

test("a log that is new is made durable with its name, once", async () => {
  await files.conversation("visit-2").append([{ ...USER, id: "1" }]);
  await files.conversation("visit-2").append([{ ...USER, id: "2" }]);
  expect(disk.done).toEqual(["sync conversation", "sync visit-2.jsonl", "sync visit-2.jsonl"]);
});

describe("what is written in one step", () => {
  test("is made durable once a file, when the step ends, the audit log after what it tells of", async () => {
    await syncedTogether(async () => {
      await say("1");
      await tell("1");
      await files.calls.plan("c", {});
      await say("2");
      await tell("2");
      expect(disk.done).toEqual([]);
    });
    expect(disk.done.slice(0, 2).toSorted()).toEqual(["sync calls.jsonl", "sync visit-1.jsonl"]);
    expect(disk.done.slice(2)).toEqual(["sync execution.jsonl"]);
  });

  test("is durable before a file of the store takes another's place", async () => {
    await syncedTogether(async () => {
      await files.calls.plan("c", {});
      await tell("1");
      await writeFileAtomic(join(dir, "state", "workflow.md"), "new\n");
    });
    const renamed = disk.done.indexOf("rename workflow.md");
    expect(disk.done.indexOf("sync calls.jsonl")).toBeLessThan(renamed);
    expect(disk.done.slice(renamed)).toEqual(["rename workflow.md", "sync state", "sync execution.jsonl"]);
  });

  test("is durable before a file of the project takes another's place, what was planned of it included", async () => {
    const project = join(dir, "project");
    await mkdir(project);
    const roots = { project, pkg: join(dir, "conversation"), state: join(dir, "state") };
    const workspace = openWorkspace({ roots, lockDir: join(dir, "locks") });
    await syncedTogether(async () => {
      await say("1");
      const result = await writeFile(
        workspace,
        { path: "@project/a.md", content: "a\n" },
        { maxWriteBytes: 100 },
        { beforeCommit: ({ bytes }) => files.calls.plan("c", { bytes }).then(() => undefined) },
      );
      expect(result).toMatchObject({ ok: true });
    });
    const renamed = disk.done.indexOf("rename a.md");
    expect(disk.done.slice(0, renamed).toSorted()).toEqual([
      "sync calls.jsonl",
      "sync temporary file",
      "sync visit-1.jsonl",
    ]);
  });

  describe("a document that names a new file of the project", () => {
    const makeAndName = async () => {
      const project = join(dir, "project");
      await mkdir(project, { recursive: true });
      const roots = { project, pkg: join(dir, "conversation"), state: join(dir, "state") };
      return writeFile(
        openWorkspace({ roots, lockDir: join(dir, "locks") }),
        { path: "@project/a.md", content: "a\n" },
        { maxWriteBytes: 100 },
        {
          afterCommit: async (_, placed) => {
            await writeFileAtomic(join(dir, "state", "workflow.md"), "a.md\n", NO_LOCK, { first: placed });
            return undefined;
          },
        },
      );
    };

    test("is written while the file's name is made durable, and takes its place after it", async () => {
      expect(await makeAndName()).toMatchObject({ ok: true });
      const order = disk.done.slice(disk.done.indexOf("rename a.md"));
      expect(order.slice(1, 3).toSorted()).toEqual(["sync project", "sync temporary workflow.md"]);
      expect(order.slice(3)).toEqual(["rename workflow.md", "sync state"]);
    });

    test("does not take its place where the name cannot be made durable, and the file is not there either", async () => {
      disk.fails = "project";
      expect(await makeAndName()).toMatchObject({ ok: false, error: { code: "E_INTERNAL" } });
      expect(disk.done).not.toContain("rename workflow.md");
      expect(readdirSync(join(dir, "state"))).toEqual(["logs"]);
      expect(readdirSync(join(dir, "project"))).toEqual([]);
    });

    test("is not made where the file's bytes cannot be made durable", async () => {
      disk.fails = "temporary file";
      expect(await makeAndName()).toMatchObject({ ok: false, error: { code: "E_INTERNAL" } });
      expect(disk.done.filter((each) => each.startsWith("rename"))).toEqual([]);
      expect(readdirSync(join(dir, "project"))).toEqual([]);
    });
  });

  test("a file that was overwritten, and whose name cannot be made durable, is not said to be as it was", async () => {
    const project = join(dir, "project");
    await mkdir(project);
    writeFileSync(join(project, "a.md"), "old\n");
    const roots = { project, pkg: join(dir, "conversation"), state: join(dir, "state") };
    const workspace = openWorkspace({ roots, lockDir: join(dir, "locks") });
    disk.fails = "project";
    const result = await writeFile(
      workspace,
      { path: "@project/a.md", content: "a\n" },
      { maxWriteBytes: 100 },
    );
    expect(readFileSync(join(project, "a.md"), "utf8")).toBe("a\n");
    const message =
      "@project/a.md was overwritten, but the system could not make that durable (EIO). Read it before you write it again.";
    expect(result).toEqual({ ok: false, error: { code: "E_INTERNAL", message } });
  });

  test("by a process that was killed before it was durable is so before it is reported", async () => {
    await say("1");
    appendFileSync(
      join(dir, "conversation", "visit-2.jsonl"),
      `${JSON.stringify({ ...USER, id: "of another" })}\n`,
    );
    disk.done.length = 0;
    const again = new RunFiles(dir);
    await syncedTogether(async () => {
      expect(await again.conversation("visit-2").count()).toBe(1);
      expect(await again.conversation("visit-1").append([{ ...USER, id: "1" }])).toBe(false);
    });
    expect(syncs().toSorted()).toEqual([
      "sync conversation",
      "sync conversation",
      "sync visit-1.jsonl",
      "sync visit-2.jsonl",
    ]);
    await syncedTogether(() => again.conversation("visit-2").count());
    expect(syncs()).toHaveLength(4);
  });

  test("by a process that was killed before it was durable is so before it is said again, outside of a step too", async () => {
    await say("1");
    disk.done.length = 0;
    const again = new RunFiles(dir).conversation("visit-1");
    expect(await again.append([{ ...USER, id: "1" }])).toBe(false);
    expect(disk.done).toEqual(["sync conversation", "sync visit-1.jsonl"]);
  });

  test("by a process that was killed, or a step that failed, is durable before an execution goes on from it, outside of a step too", async () => {
    const ours = new RunFiles(dir, 1);
    const sayOurs = () => ours.conversation("visit-1").append([{ ...USER, id: "1" }]);
    const failing = syncedTogether(async () => {
      await sayOurs();
      throw new Error("no answer");
    });
    await expect(failing).rejects.toThrow("no answer");
    appendFileSync(join(dir, "calls.jsonl"), `${JSON.stringify({ id: "c", result: { ok: true } })}\n`);
    expect(disk.done).toEqual([]);
    expect(await ours.conversation("visit-1").count()).toBe(2);
    expect(await ours.calls.find("c")).toBeDefined();
    const found = ["conversation", "visit-1.jsonl", basename(dir), "calls.jsonl"];
    expect(syncs()).toEqual(found.map((name) => `sync ${name}`));
    await ours.conversation("visit-1").count();
    await ours.calls.find("c");
    expect(await new RunFiles(dir).conversation("visit-1").count()).toBe(2);
    expect(syncs(), "once, and not for who only looks").toHaveLength(found.length);
  });

  test("is not reported, and nothing takes a file's place, where it cannot be made durable; the next step does so", async () => {
    disk.fails = "calls.jsonl";
    const document = join(dir, "state", "workflow.md");
    const step = () =>
      syncedTogether(async () => {
        await files.calls.plan("c", {});
        await writeFileAtomic(document, "new\n");
      });
    await expect(step()).rejects.toThrow("EIO");
    await expect(syncedTogether(() => files.calls.count())).rejects.toThrow("EIO");
    expect(disk.done).not.toContain("rename workflow.md");
    disk.fails = "";
    await syncedTogether(() => files.calls.count());
    expect(syncs().at(-1)).toBe("sync calls.jsonl");
  });

  test("is durable at once when its step is over, and outside of any", async () => {
    let goOn: () => void = () => undefined;
    const over = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let late: Promise<unknown> = Promise.resolve();
    await syncedTogether(() => {
      late = over.then(() => say("late"));
      return Promise.resolve();
    });
    expect(disk.done).toEqual([]);
    goOn();
    await late;
    expect(disk.done).toEqual(["sync visit-1.jsonl"]);
    await tell("1");
    expect(disk.done).toEqual(["sync visit-1.jsonl", "sync execution.jsonl"]);
  });

  test("by a step that fails is left to the next one", async () => {
    const failing = syncedTogether(async () => {
      await say("1");
      throw new Error("no answer");
    });
    await expect(failing).rejects.toThrow("no answer");
    expect(disk.done).toEqual([]);
    await syncedTogether(() => files.conversation("visit-1").entries());
    expect(disk.done).toEqual(["sync visit-1.jsonl"]);
  });
});

test("quick turns are one step", async () => {
  const result = await quickTurns(
    { ...TURN_INPUT, turn: 1 },
    {
      async take() {
        await say("1");
        await tell("1");
        expect(disk.done).toEqual([]);
        return turnResult([]);
      },
      keep: () => Promise.resolve(undefined),
    },
  );
  expect(result).toBeDefined();
  expect(disk.done).toEqual(["sync visit-1.jsonl", "sync execution.jsonl"]);
});

describe("what a process that was killed has put in its place is durable before it is reported", () => {
  test("a run that is listed", async () => {
    const project = { projectId: "p", root: dir };
    const run = { ...LISTED, projectId: "p" };
    const place = () =>
      placeRun(join(dir, "projects"), project, new RunIndex(join(dir, "projects/p")), run, Buffer.from(""));
    expect(await place()).toMatchObject({ ok: true });
    expect(syncs().slice(0, 3), "the names of the folders that were made").toEqual([
      "sync p",
      "sync projects",
      `sync ${basename(dir)}`,
    ]);
    const placed = disk.done.indexOf(`rename ${LISTED.runId}`);
    expect(disk.done.slice(0, placed).at(-1)).toMatch(/^sync [0-9a-f-]{36}$/);
    disk.done.length = 0;
    expect(await place()).toMatchObject({ ok: true });
    expect(disk.done).toEqual(["sync runs.jsonl", "sync p"]);
  });

  test("the number of an execution", async () => {
    const begin = () => new RunFiles(dir).executions.begin({ id: "b", startedAt: 2 }, true);
    expect(await begin()).toBe(2);
    disk.done.length = 0;
    expect(await begin()).toBe(2);
    expect(disk.done).toEqual([`sync ${basename(dir)}`]);
  });

  test("the copy of a log that was taken over", async () => {
    await say("1");
    disk.done.length = 0;
    await replaceByCopy(join(dir, "conversation", "visit-1.jsonl"), NO_LOCK);
    expect(disk.done).toEqual(["sync temporary visit-1.jsonl", "rename visit-1.jsonl", "sync conversation"]);
  });
});
