import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { KnownStore, ListedRun } from "../../../src/client/client.js";
import { fits } from "../../../src/client/runs/list-runs.js";
import { theOnly, isName } from "../../../src/cli/session/find-project.js";
import { chooseStore, notPolledSince, standingOf } from "../../../src/cli/session/known-stores.js";
import { UsageError } from "../../../src/cli/terminal/output.js";
import { filterOf, limitOf, newestWords, sinceOf } from "../../../src/cli/report/run-filter.js";
import {
  joined,
  newestFirst,
  runCells,
  runColumns,
  shortName,
  storedRow,
} from "../../../src/cli/report/run-rows.js";
import { isPrintable } from "../../../src/core/printable.js";
import { tableLines } from "../../../src/cli/terminal/table.js";

const NOW = new Date("2026-03-10T12:00:00.000Z");
const RUN: ListedRun = {
  runId: "6a5c3a0e-0000-4000-8000-000000000001",
  workflowId: "run-6a5c3a0e-0000-4000-8000-000000000001",
  workflowType: "graphRun",
  phase: "waiting-user",
  paused: false,
  packageId: "create-story-1.0.0-fdd9e175a831d598",
  projectId: "shop-e53eb8ddb4c5",
  project: "shop",
  nodeId: "ask",
  question: "Which?",
  startedAt: "2026-03-10T11:00:00.000Z",
  since: "2026-03-10T11:30:00.000Z",
  taskQueue: "office",
};
const STORED = {
  runId: RUN.runId,
  projectId: "shop-e53eb8ddb4c5",
  packageId: "create-story-1.0.0-fdd9e175a831d598",
  workflowRef: "create-story",
  activeAgentId: "author",
  phase: "running" as const,
  createdAt: "2026-03-10T10:59:59.000Z",
  lastUpdatedAt: "2026-03-10T11:00:01.000Z",
};

describe("the filters of runs", () => {
  test("add up phases, and take times, names and numbers", async () => {
    expect(await filterOf({}, NOW)).toEqual({});
    expect(await filterOf({ waiting: true, failed: true, running: true, completed: true }, NOW)).toEqual({
      phases: ["waiting-user", "failed", "running", "idle", "completed"],
    });
    expect(await filterOf({ project: "shop-of-nobody", package: "create", query: "a = 1" }, NOW)).toEqual({
      project: "shop-of-nobody",
      package: "create",
      query: "a = 1",
    });
    await expect(filterOf({ project: "../of-nobody" }, NOW)).rejects.toThrow(UsageError);
    expect(sinceOf("2h", NOW)).toBe("2026-03-10T10:00:00.000Z");
    expect(sinceOf("1w", NOW)).toBe("2026-03-03T12:00:00.000Z");
    expect(sinceOf("2026-03-01", NOW)).toBe(new Date(2026, 2, 1).toISOString());
    expect(sinceOf("2028-02-29T09:30:00+02:00", NOW)).toBe("2028-02-29T07:30:00.000Z");
    expect(sinceOf("2026-11-22 09:30Z", NOW)).toBe("2026-11-22T09:30:00.000Z");
    expect([limitOf({}), limitOf({ limit: "7" })]).toEqual([50, 7]);
    for (const limit of ["0", "-1", "x", "10001", "1e3", ""])
      expect(() => limitOf({ limit })).toThrow(UsageError);
    expect(["shop", "my shop", "a.b"].every(isName)).toBe(true);
    expect([".", "..", "", "a/b", "~", String.raw`a\b`].some(isName)).toBe(false);
  });

  test.each([1, 50, 999, 1_001, 5_000, 9_999, 10_000])(
    "advise no limit that is refused: after %d",
    (limit) => {
      const advised = /^The newest \d+\.(?: More with: --limit (\d+))?$/.exec(newestWords(limit))?.[1];
      expect(advised === undefined ? limit : limitOf({ limit: advised })).toBe(Math.min(10 * limit, 10_000));
    },
  );

  test("take a day for that of the place, as the listing shows it: of UTC's, prune would remove hours of it", () => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(sinceOf("2026-11-22", NOW)).toBe("2026-11-21T15:00:00.000Z");
    expect(sinceOf("2026-11-22T00:00", NOW)).toBe("2026-11-21T15:00:00.000Z");
    expect(sinceOf("2026-11-22T00:00Z", NOW)).toBe("2026-11-22T00:00:00.000Z");
  });

  test.each([
    "",
    "2",
    "h",
    "-2h",
    "2y",
    "yesterday",
    "2026-13-40",
    "2026-02-30",
    "2026-02-29",
    "2026-11-31",
    "2026-11-00",
    "2026-11-26T25:00Z",
    "2026-11-26T09:60Z",
    "2026-11-26 (foo) 23:00 PST",
    "2026-11-26x",
    "2026-11-26T",
    "2026-11-26T09",
    "2026-11-26T09:30+99:00",
  ])('take no "%s" for a time: the refusal says what is one', (text) => {
    expect(() => sinceOf(text, NOW)).toThrow(UsageError);
    expect(() => sinceOf(text, NOW)).toThrow(
      "--since is a time ago, such as 30m, 2h, 3d or 1w, or a date that there is, such as 2026-11-22 or 2026-11-22T09:30Z.",
    );
  });

  test("fit what a run says of itself", () => {
    expect(fits(RUN, {})).toBe(true);
    expect(fits(RUN, { phases: ["waiting-user"], package: "create-story", project: "shop" })).toBe(true);
    expect(fits(RUN, { project: "shop-e53eb8ddb4c5", since: RUN.startedAt, taskQueues: ["office"] })).toBe(
      true,
    );
    for (const filter of [
      { phases: ["failed" as const] },
      { package: "story" },
      { project: "sho" },
      { project: "shop-e53" },
      { since: "2026-03-10T11:00:00.001Z" },
      { taskQueues: ["attic"] },
    ]) {
      expect(fits(RUN, filter)).toBe(false);
    }
    const { project: _project, ...old } = RUN; // of an earlier version
    expect(fits(old, { project: "Shop" })).toBe(true);
    expect(fits(old, { project: "other" })).toBe(false);
  });
});

describe("the table of runs", () => {
  test("joins what Temporal and the store say, marks what only the store knows, and has the newest first", () => {
    const names = new Map([["shop-e53eb8ddb4c5", "shop"]]);
    const [row] = joined([RUN], [STORED], names);
    expect(row).toMatchObject({ phase: "waiting-user", activeAgentId: "author", inTemporal: true });
    expect(row?.createdAt).toBe(STORED.createdAt);
    const forgotten = {
      ...storedRow(
        { ...STORED, createdAt: "2026-03-10T11:45:00.000Z" },
        { taskQueue: "office", project: "shop", place: { nodeId: "step-02" } },
      ),
      inTemporal: false,
    };
    const rows = newestFirst(row === undefined ? [forgotten] : [row, forgotten]);
    expect(rows[0]).toBe(forgotten);
    const cells = runCells(forgotten, { isNarrow: true, now: NOW });
    expect(cells.slice(0, 5)).toEqual([
      "6a5c3a0e",
      "create-story-1.0.0",
      "shop",
      "running (store)",
      "step-02",
    ]);
    // Fewer characters than these name no run.
    expect(tableLines(runColumns(true), [cells], 1)[1]).toMatch(/^6a5c3a0e {2}/);
    expect(shortName({ runId: RUN.runId, workflowId: "story-7" })).toBe("story-7");
    const [header] = tableLines(runColumns(false), []);
    expect(header?.split(/ +/)).toEqual("RUN PACKAGE PROJECT PHASE NODE QUESTION STARTED SINCE".split(" "));
  });

  test("says of a run that only the store knows where it stood, and its question while it waits with it", () => {
    const place = { nodeId: "ask", paused: true, question: { nodeId: "ask", text: "\nWhich?\nOr none?" } };
    const here = { taskQueue: "office", place };
    const waiting = storedRow({ ...STORED, phase: "waiting-user" }, here);
    expect(waiting).toMatchObject({ nodeId: "ask", paused: true, question: "Which?" });
    const over = storedRow({ ...STORED, phase: "failed" }, here);
    expect([over.nodeId, over.question]).toEqual(["ask", undefined]);
    expect(storedRow(STORED, { taskQueue: "office", place: { nodeId: "" } })).not.toHaveProperty("nodeId");
  });

  test("keeps to the terminal's width, on one printable line each", () => {
    const columns = [
      { title: "A", max: 10 },
      { title: "BEE", max: 100, gives: true },
    ];
    const hostile = "x\u001B[2J\ny\u202e" + "z".repeat(60);
    for (const line of tableLines(columns, [["one", hostile]], 20)) {
      expect(line.length).toBeLessThanOrEqual(20);
      expect(isPrintable(line)).toBe(true);
    }
    expect(tableLines(columns, [["1234567890123", "b"]])).toEqual(["A            BEE", "1234567890…  b"]);
    expect(tableLines(columns, [["a", "bbbbbb"]], 1)).toEqual(["A  BEE", "a  bb…"]);
  });

  test("columns stand below each other whatever script is in them, and none is wider than the terminal", () => {
    const columns = [
      { title: "PROJECT", max: 20, gives: true },
      { title: "PHASE", max: 20 },
    ];
    const rows = [
      "日本語の本",
      "한국어",
      "한글".normalize("NFD"),
      "café".normalize("NFD"),
      "🚀 up",
      "plain",
    ].map((name) => [name, "running"]);
    expect(tableLines(columns, rows)).toEqual([
      "PROJECT     PHASE",
      "日本語の本  running",
      "한국어      running",
      "한글        running".normalize("NFD"),
      "café        running".normalize("NFD"),
      "🚀 up       running",
      "plain       running",
    ]);
    expect(tableLines(columns, rows.slice(0, 1), 16)).toEqual(["PROJECT  PHASE", "日本語…  running"]);
    const odd = [
      { title: "PROJECTS", max: 20, gives: true },
      { title: "PHASE", max: 20 },
    ];
    expect(tableLines(odd, [["日本語日本語", "running"]], 17)[1]).toBe("日本語…   running");
  });
});

const store = (name: string, storeId: string, projects: readonly string[]): KnownStore => ({
  storeId,
  name,
  taskQueue: name,
  workers: [],
  projects: projects.map((project) => ({
    projectId: `${project}-1`,
    name: project,
    root: `/srv/${name}/${project}`,
  })),
});
const OFFICE = store("office", "38d26fd8-b413-4742-b5ca-9c3613abe045", ["shop", "library"]);
const ATTIC = store("attic", "7cd9d814-b597-4e8c-82a2-9b81aea5659a", ["library"]);

describe("a store and its projects", () => {
  test("are found by name, id and path; what several have is an error that names them", () => {
    expect(theOnly([OFFICE, ATTIC], "shop").store).toBe(OFFICE);
    expect(theOnly([OFFICE, ATTIC], "/srv/attic/library").store).toBe(ATTIC);
    expect(theOnly([ATTIC], "library").project.root).toBe("/srv/attic/library");
    const both = new RegExp(
      `Several stores have a project "library".*\n.*${OFFICE.storeId}\n.*${ATTIC.storeId}`,
    );
    expect(() => theOnly([OFFICE, ATTIC], "library")).toThrow(both);
    expect(() => theOnly([OFFICE, ATTIC], "cellar")).toThrow("no store has a project of that name");
    const twice = {
      ...ATTIC,
      projects: [...ATTIC.projects, { projectId: "library-2", name: "library", root: "/b" }],
    };
    expect(() => theOnly([twice], "library")).toThrow(
      /several projects "library".*\nlibrary-1 .*\nlibrary-2 /,
    );
  });

  test("a name that a stranger took as well is no store's until an id says which", () => {
    const stranger = { ...ATTIC, name: "office" };
    expect(() => chooseStore([OFFICE, stranger], "office")).toThrow(/Several stores are called "office"/);
    expect(chooseStore([OFFICE, stranger], OFFICE.storeId)).toBe(OFFICE);
    expect(chooseStore([OFFICE, stranger], "38d2")).toBe(OFFICE);
    expect(() => chooseStore([OFFICE], "38d")).toThrow(/No store is called "38d"/);
    const hostile = { ...ATTIC, name: "a\u001B[2J\nb" };
    expect(() => chooseStore([hostile], "x")).toThrow("a [2J b  7cd9d814");
  });

  test("nobody polls since the last that Temporal or a worker knows", () => {
    const worker = { instance: "i", host: "desk", version: "1", seenAt: "2026-03-10T11:00:00.000Z" };
    const seen = { ...OFFICE, workers: [worker] };
    expect(notPolledSince(seen, { polled: false })).toBe(worker.seenAt);
    const later = "2026-03-10T11:04:00.000Z";
    expect(notPolledSince(seen, { polled: false, lastPolledAt: later })).toBe(later);
    expect(notPolledSince(undefined, undefined)).toBeUndefined();
    expect(standingOf(seen, { polled: true })).toMatchObject({
      polled: true,
      hosts: ["desk"],
      versions: ["1"],
    });
    expect(standingOf(seen, { polled: true }).notPolledSince).toBeUndefined();
  });
});
