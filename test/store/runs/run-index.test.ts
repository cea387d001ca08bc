import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { DamagedIndex, RunIndex, type RunMetadata } from "../../../src/store/runs/run-index.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

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
    expect(JSON.parse(await readFile(join(dir, "runsIndex.json"), "utf8"))).toEqual([run("b"), run("a")]);
    expect((await stat(join(dir, "runsIndex.json"))).mode & 0o777).toBe(0o600);
    expect((await readdir(dir)).sort()).toEqual(["runsIndex.json", "runsIndex.lock"]);
  });

  test("loses nothing when twenty are added at once", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => new RunIndex(dir).add(run(`r${n}`))));
    expect((await ids()).sort()).toEqual(Array.from({ length: 20 }, (_, n) => `r${n}`).sort());
  });

  test("takes a run out again, and leaves the file alone when it was not there", async () => {
    const index = new RunIndex(dir);
    await index.add(run("a"));
    const before = (await stat(join(dir, "runsIndex.json"))).ino;
    await index.remove("b");
    expect((await stat(join(dir, "runsIndex.json"))).ino).toBe(before);
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

describe("a damaged index", () => {
  test.each(["", "{", "null", "{}", '[{"runId":"a"}]', "[1]"])(
    "%j is no empty index, and no change goes over it",
    async (content) => {
      await writeFile(join(dir, "runsIndex.json"), content);
      const index = new RunIndex(dir);
      await expect(index.list()).rejects.toThrow(DamagedIndex);
      await expect(index.add(run("a"))).rejects.toThrow("(runsIndex.json) cannot be read: restore it.");
      expect(await readFile(join(dir, "runsIndex.json"), "utf8")).toBe(content);
    },
  );

  test("a directory in its place is none either", async () => {
    await mkdir(join(dir, "runsIndex.json"));
    await expect(new RunIndex(dir).list()).rejects.toThrow(DamagedIndex);
  });
});
