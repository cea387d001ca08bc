import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openPromise } from "yauzl";
import { describe, expect, test } from "vitest";
import { exportRun } from "../../src/client/export-run.js";
import { call } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { STRAIGHT } from "../fakes/walk.js";
import { finishedRun, openBench, until } from "./harness.js";
import { jsonOf, shellOf } from "./shell.js";

/** The files of an archive, by name. */
async function unzip(path: string): Promise<Readonly<Record<string, Buffer>>> {
  const zip = await openPromise(path);
  const files: Record<string, Buffer> = {};
  try {
    for await (const entry of zip.eachEntry()) {
      const chunks: Buffer[] = [];
      for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
      files[entry.fileName] = Buffer.concat(chunks);
    }
  } finally {
    zip.close();
  }
  return files;
}

interface History {
  readonly events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[];
}

function eventTypes(file: Buffer | undefined): readonly string[] {
  const { events } = JSON.parse(file?.toString("utf8") ?? "") as { events: { eventType: string }[] };
  return events.map(({ eventType }) => eventType);
}

describe("export and replay", () => {
  test(
    "an archive holds history, document, audit log and conversations; its history replays",
    { tags: "slow" },
    async () => {
      const bench = await openBench([
        {
          calls: [
            call("fs_write", { path: "@project/artifacts/out.md", content: "blue\n" }),
            call("fs_write", { path: "@state/..\\odd", content: "kept\n" }),
            call("fs_write", { path: "@state/yarn.lock", content: "kept\n" }),
          ],
        },
        ...STRAIGHT,
      ]);
      const run = await finishedRun(bench);
      const shell = shellOf(bench);
      const exported = await shell.run(["export", run.runId, "--json"]);
      const output = join(shell.dir, `run-${run.runId}.zip`);
      const { entries } = jsonOf(exported) as { entries: string[] };
      expect(jsonOf(exported)).toMatchObject({ runId: run.runId, output });
      const files = await unzip(output);
      expect(Object.keys(files).sort()).toEqual([...entries].sort());
      const { dir, logFile } = await bench.filesOf(run);
      expect(files["state/workflow.md"]).toEqual(await readFile(join(dir, "state/workflow.md")));
      expect(files["state/logs/execution.jsonl"]).toEqual(await readFile(logFile));
      expect(Object.keys(files)).toEqual(
        expect.arrayContaining([
          "history.json",
          "run.json",
          "conversation/visit-1.jsonl",
          "state/..%5Codd",
          "calls.jsonl",
          "boundaries.jsonl",
        ]),
      );
      expect(entries.filter((name) => name.includes(".lock"))).toEqual(["state/yarn.lock"]);

      const path = join(shell.dir, "history.json");
      await writeFile(path, files["history.json"] ?? "");
      const history = JSON.parse(files["history.json"]?.toString("utf8") ?? "") as History;
      const events = history.events.length;
      const tampered = join(shell.dir, "tampered.json");
      for (const event of history.events) {
        const type = event.activityTaskScheduledEventAttributes?.activityType;
        if (type?.name === "model.turn") type.name = "run.phase";
      }
      await writeFile(tampered, JSON.stringify(history));
      await writeFile(join(shell.dir, "empty.json"), '{"events":[]}');
      await writeFile(join(shell.dir, "text.json"), "no history");
      await writeFile(join(shell.dir, "other.json"), '{"events":[{"eventId":"1","eventType":"NONSENSE"}]}');
      await writeFile(join(shell.dir, "late.json"), JSON.stringify({ events: history.events.slice(3) }));
      const [byId, byFile, departed, ...wrong] = await Promise.all(
        [run.runId, path, tampered, "empty.json", "text.json", "other.json", "late.json", "nowhere.json"].map(
          (what) => shell.run(["replay", what, "--json"]),
        ),
      );
      expect(byId && jsonOf(byId)).toEqual({ ok: true, events });
      expect(byFile && jsonOf(byFile)).toEqual({ ok: true, events });
      expect(departed?.code).toBe(1);
      expect(departed && jsonOf(departed)).toMatchObject({
        ok: false,
        departure: expect.stringContaining("run.phase") as string,
      });
      for (const outcome of wrong) {
        expect(outcome.code).toBe(2);
        expect(jsonOf(outcome)).toMatchObject({ ok: false });
      }
      const said = wrong.map(({ stderr }) => stderr);
      expect(said[0]).toContain("no history as JSON: The file holds no events.");
      expect(said[1]).toContain('"text.json" is no history as JSON:');
      expect(said[4]).toContain("neither a file with a history nor the id of a run");
    },
  );

  test("a run that is under way is exported as it stands", async () => {
    const bench = await openBench([{ content: "Which colour?" }, { content: "Which colour?" }]);
    const run = await bench.start(twoNodePackage());
    await until(run, "waiting-user");
    const exported = await shellOf(bench).run(["export", run.runId, "--output", "open.zip"]);
    expect(exported.code).toBe(0);
    const files = await unzip(join(dirname(bench.store.dir), "open.zip"));
    expect(files["conversation/visit-1.jsonl"]?.toString("utf8")).toContain("Which colour?");
    expect(files["history.json"]?.length).toBeGreaterThan(0);

    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "ENGINE_ABORTED" });
    const again = await bench.client.retry(run.runId);
    await until(again, "waiting-user");
    const histories = await again.histories();
    expect(histories).toHaveLength(2);
    const output = join(dirname(bench.store.dir), "both.zip");
    const names = await exportRun(bench.store, { runId: run.runId, output, histories });
    expect(names.filter((name) => name.startsWith("history"))).toEqual(["history-1.json", "history.json"]);
    const both = await unzip(output);
    expect(eventTypes(both["history-1.json"]).at(-1)).toBe("EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED");
    expect(eventTypes(both["history.json"]).at(-1)).not.toContain("CANCELED");
    const replayed = await shellOf(bench).run(["replay", run.runId]);
    expect(replayed.stdout).toMatch(/^The code at hand follows all \d+ events of 2 executions\.$/m);
    await again.cancel();
  });

  test("an archive that cannot be written leaves nothing behind, and what was there", async () => {
    const bench = await openBench(STRAIGHT);
    const run = await finishedRun(bench);
    const shell = shellOf(bench);
    await mkdir(join(shell.dir, "full/archive.zip"), { recursive: true });
    const [noDirectory, isDirectory] = await Promise.all([
      shell.run(["export", run.runId, "--output", "missing/archive.zip"]),
      shell.run(["export", run.runId, "--output", "full/archive.zip"]),
    ]);
    for (const outcome of [noDirectory, isDirectory]) expect(outcome).toMatchObject({ code: 1, stdout: "" });
    // Of the file that is renamed in the end nobody has heard.
    expect(noDirectory.stderr).toMatch(
      /archive\.zip could not be written: ENOENT: no such file or directory\n$/,
    );
    expect(isDirectory.stderr).toContain("could not be written");
    expect(await readdir(join(shell.dir, "full"))).toEqual(["archive.zip"]);
  });
});
