import {
  appendFile,
  chmod,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { DamagedIndex, RunIndex } from "../../../src/store/runs/run-index.js";
import type { RunMetadata } from "../../../src/store/runs/run-metadata.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { withoutRights } from "../../fakes/unprivileged.js";

let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
});

const run = (runId: string): RunMetadata => ({
  runId,
  projectId: "p",
  packageId: "k",
  workflowRef: "w",
  activeAgentId: "a",
  phase: "idle",
  createdAt: "2026-01-02T03:04:05.000Z",
  lastUpdatedAt: "2026-01-02T03:04:05.000Z",
});
const ID = "11111111-1111-4111-8111-111111111111";
const linesOf = (...values: readonly unknown[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
const ids = async () => (await new RunIndex(dir).list()).map(({ runId }) => runId);

describe("an index of runs", () => {
  test("is empty without a file, also where its folder is none", async () => {
    expect(await ids()).toEqual([]);
    await writeFile(join(dir, "file"), "");
    expect(await new RunIndex(join(dir, "file")).list()).toEqual([]);
  });

  test("keeps runs in the order they were added, each once, in a private file of JSON", async () => {
    const index = new RunIndex(dir);
    await index.add(run("b"));
    await index.add(run("a"));
    await index.add({ ...run("b"), packageId: "another" });
    expect(await index.list()).toEqual([run("b"), run("a")]);
    expect(await readFile(join(dir, "runs.jsonl"), "utf8")).toBe(linesOf(run("b"), run("a")));
    expect((await stat(join(dir, "runs.jsonl"))).mode & 0o777).toBe(0o600);
    expect((await readdir(dir)).sort()).toEqual(["runs.jsonl", "runsIndex.lock"]);
  });

  test("loses nothing when twenty are added at once", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => new RunIndex(dir).add(run(`r${n}`))));
    expect((await ids()).sort()).toEqual(Array.from({ length: 20 }, (_, n) => `r${n}`).sort());
  });

  test("takes a run out again, and leaves the file alone when it was not there", async () => {
    const index = new RunIndex(dir);
    await index.add(run("a"));
    await index.remove("b");
    expect(await readFile(join(dir, "runs.jsonl"), "utf8")).toBe(linesOf(run("a")));
    await index.remove("a");
    expect(await ids()).toEqual([]);
  });

  test("changes the phase of one run, and when", async () => {
    const index = new RunIndex(dir);
    await index.add(run("a"));
    await index.add(run("b"));
    await index.setPhase("b", "running", new Date("2026-05-06T07:08:09.000Z"));
    expect(await index.find("b")).toEqual({
      ...run("b"),
      phase: "running",
      lastUpdatedAt: "2026-05-06T07:08:09.000Z",
    });
    expect(await index.find("a")).toEqual(run("a"));
    expect(await index.find("constructor")).toBeUndefined();
  });
});

describe("a line of the index", () => {
  const at = (second: number) => new Date(Date.UTC(2026, 4, 6, 7, 8, second));
  const lines = async () => (await readFile(join(dir, "runs.jsonl"), "utf8")).split("\n").length - 1;

  test("is written when a run is made, begins and ends, and not in between", async () => {
    const index = new RunIndex(dir);
    await index.add(run(ID));
    await index.setBegun(ID, at(1));
    await index.setBegun(ID, at(2));
    for (const phase of ["waiting-user", "running", "waiting-user", "running"] as const) {
      await index.setPhase(ID, phase, at(3));
    }
    expect(await lines()).toBe(2);
    await index.setPhase(ID, "failed", at(4));
    await index.setPhase(ID, "failed", at(5)); // told again
    expect(await lines()).toBe(3);
    await index.setPhase(ID, "running", at(6)); // retried
    await index.setPhase(ID, "completed", at(7));
    expect(await lines()).toBe(5);
    const [listed] = await new RunIndex(dir).list();
    expect(listed).toEqual({ ...run(ID), phase: "completed", lastUpdatedAt: at(7).toISOString() });
  });

  test("says when a run is over; until then its status does, and none is read after", async () => {
    const index = new RunIndex(dir);
    await index.add(run(ID));
    await index.setBegun(ID, at(1));
    await mkdir(join(dir, "runs", ID), { recursive: true });
    await writeFile(join(dir, "runs", ID, "status.json"), JSON.stringify({ phase: "waiting-user" }));
    await utimes(join(dir, "runs", ID, "status.json"), at(2), at(2));
    const asked = { ...run(ID), phase: "waiting-user", lastUpdatedAt: at(2).toISOString() };
    expect(await index.list()).toEqual([asked]);
    expect(await new RunIndex(dir).find(ID)).toEqual(asked);
    await index.setPhase(ID, "completed", at(3));
    expect(await index.find(ID)).toMatchObject({ phase: "completed" });
    await writeFile(join(dir, "runs", ID, "status.json"), "{");
    await index.setPhase(ID, "running", at(4));
    expect(await index.find(ID)).toMatchObject({ phase: "running", lastUpdatedAt: at(4).toISOString() });
  });

  test("says where a run stands whose folder cannot be looked into", async () => {
    const index = new RunIndex(dir);
    await index.add(run(ID));
    await mkdir(join(dir, "runs", ID), { recursive: true });
    await withoutRights(dir, async () => {
      await chmod(join(dir, "runs", ID), 0);
      expect(await index.list()).toEqual([run(ID)]);
      await chmod(join(dir, "runs", ID), 0o700);
    });
  });

  test("of a run that is not over needs no status until somebody asks how the run stands", async () => {
    const index = new RunIndex(dir);
    await index.add(run(ID));
    await index.setPhase(ID, "running", new Date("2026-01-03T00:00:00.000Z"));
    await mkdir(join(dir, "runs", ID), { recursive: true });
    await writeFile(join(dir, "runs", ID, "status.json"), '{"phase":"waiting-user"}');
    const [listed] = await index.listUnread();
    expect(listed).toMatchObject({ runId: ID, phase: "running" });
    expect(index.asItStands(listed ?? run(ID))).toMatchObject({ phase: "waiting-user" });
    expect(index.placeOf(run(ID))).toBeUndefined();
    await writeFile(join(dir, "runs", ID, "status.json"), '{"phase":"failed","nodeId":"step-02"}');
    expect(index.placeOf({ ...run(ID), phase: "failed" })).toEqual({ nodeId: "step-02" });
  });

  test.each<[string, object, object]>([
    ["a workflow of its own", { workflowId: "w-1" }, { workflowId: "w-1" }],
    ["a run above it", { parentRunId: "p" }, { parentRunId: "p" }],
    ["a fork", { forkedFrom: { runId: "x", visit: 2 } }, { forkedFrom: { runId: "x", visit: 2 } }],
    ["a field that nobody knows", { colour: "red" }, {}],
  ])("has what the schema keeps of it: %s", async (_, more, kept) => {
    await writeFile(join(dir, "runs.jsonl"), linesOf({ ...run("a"), ...more }));
    expect(await new RunIndex(dir).list()).toEqual([{ ...run("a"), ...kept }]);
  });

  test.each<[string, object]>([
    ["lacks a field", { ...run("a"), packageId: undefined }],
    ["has a phase that is none", { ...run("a"), phase: "asleep" }],
    ["has a number for a text", { ...run("a"), projectId: 7 }],
    ["changes to a phase that is none", { runId: "a", phase: "asleep", lastUpdatedAt: "x" }],
  ])("that %s makes the index a damaged one", async (_, line) => {
    await writeFile(join(dir, "runs.jsonl"), linesOf(run("b"), line));
    await expect(new RunIndex(dir).list()).rejects.toThrow(DamagedIndex);
  });

  test("that holds two values is none", async () => {
    const both = `${JSON.stringify(run("a"))},${JSON.stringify(run("b"))}\n`;
    await writeFile(join(dir, "runs.jsonl"), both);
    await expect(new RunIndex(dir).list()).rejects.toThrow(DamagedIndex);
  });

  test("whose lines have lost their ends is a damaged one: it is neither empty nor cut off", async () => {
    const text = linesOf(...Array.from({ length: 400 }, (_, nth) => run(`run-${nth}`))).replaceAll(
      "\n",
      "\r",
    );
    await writeFile(join(dir, "runs.jsonl"), text);
    const index = new RunIndex(dir);
    await expect(index.list()).rejects.toThrow(DamagedIndex);
    await expect(index.add(run("new"))).rejects.toThrow(DamagedIndex);
    expect(await readFile(join(dir, "runs.jsonl"), "utf8")).toBe(text);
  });

  test("of another process is read, each once, and what a kill has torn is cut off by the next one", async () => {
    const [index, other] = [new RunIndex(dir), new RunIndex(dir)];
    await index.add(run("a"));
    expect(await other.list()).toHaveLength(1);
    await appendFile(join(dir, "runs.jsonl"), JSON.stringify(run("torn")).slice(0, 40));
    expect((await other.list()).map(({ runId }) => runId)).toEqual(["a"]);
    await other.add(run("c"));
    expect((await index.list()).map(({ runId }) => runId)).toEqual(["a", "c"]);
    expect(await readFile(join(dir, "runs.jsonl"), "utf8")).toBe(linesOf(run("a"), run("c")));
  });

  test("is read again where another file stands in the place of the one that was read", async () => {
    const index = new RunIndex(dir);
    await index.add(run("a"));
    await index.add(run("b"));
    await writeFile(join(dir, "new"), linesOf(run("b"), run("c"), run("d")));
    await rename(join(dir, "new"), join(dir, "runs.jsonl"));
    expect((await index.list()).map(({ runId }) => runId)).toEqual(["b", "c", "d"]);
    await rm(join(dir, "runs.jsonl"));
    expect(await index.list()).toEqual([]);
  });
});

describe("the index of an earlier version", () => {
  test("is read as it is, and taken over by the first write", async () => {
    const old = [run("a"), { ...run("b"), phase: "completed" }];
    await writeFile(join(dir, "runsIndex.json"), JSON.stringify(old, undefined, 2));
    const index = new RunIndex(dir);
    expect(await index.list()).toEqual(old);
    expect(await readdir(dir)).toEqual(["runsIndex.json"]);
    await index.setBegun("a", new Date("2026-05-06T07:08:09.000Z"));
    expect((await readdir(dir)).sort()).toEqual(["runs.jsonl", "runsIndex.lock"]);
    const begun = { ...run("a"), phase: "running", lastUpdatedAt: "2026-05-06T07:08:09.000Z" };
    expect(await index.list()).toEqual([begun, old[1]]);
    expect(await new RunIndex(dir).list()).toEqual([begun, old[1]]);
  });

  test("is taken over again where a kill came between, each run once", async () => {
    const old = [run("a"), run("b"), run("c")];
    await writeFile(join(dir, "runsIndex.json"), JSON.stringify(old));
    await writeFile(join(dir, "runs.jsonl"), `${linesOf(run("a"))}${JSON.stringify(run("b")).slice(0, 50)}`);
    expect(await ids()).toEqual(["a", "b", "c"]);
    await new RunIndex(dir).add(run("d"));
    expect(await ids()).toEqual(["a", "b", "c", "d"]);
    expect((await readdir(dir)).sort()).toEqual(["runs.jsonl", "runsIndex.lock"]);
  });
});

describe("a damaged index", () => {
  test.each(["", "{", "null", "{}", '[{"runId":"a"}]', "[1]"])(
    "%j is no empty index of an earlier version, and no change goes over it",
    async (content) => {
      await writeFile(join(dir, "runsIndex.json"), content);
      const index = new RunIndex(dir);
      await expect(index.list()).rejects.toThrow(DamagedIndex);
      await expect(index.add(run("a"))).rejects.toThrow("(runsIndex.json) cannot be read: restore it.");
      expect(await readFile(join(dir, "runsIndex.json"), "utf8")).toBe(content);
    },
  );

  test.each([
    "{\n",
    "\n",
    "1\n",
    "[1\n2]\n",
    '{"runId":"a","phase":"sleeping","lastUpdatedAt":""}\n',
    '{"runId":"a","createdAt":""}\n',
  ])("%j holds no lines of an index, and no change goes over it", async (content) => {
    await writeFile(join(dir, "runs.jsonl"), linesOf(run("b")) + content);
    const index = new RunIndex(dir);
    await expect(index.list()).rejects.toThrow(DamagedIndex);
    await expect(index.list()).rejects.toThrow(DamagedIndex);
    await expect(index.add(run("a"))).rejects.toThrow("(runs.jsonl) cannot be read: restore it.");
    expect(await readFile(join(dir, "runs.jsonl"), "utf8")).toBe(linesOf(run("b")) + content);
  });

  test.each(["runs.jsonl", "runsIndex.json"])(
    "a directory in the place of %s is none either",
    async (name) => {
      await mkdir(join(dir, name));
      await expect(new RunIndex(dir).list()).rejects.toThrow(DamagedIndex);
    },
  );
});
