import { appendFile, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import { withoutHistory } from "../../../src/core/graph-state/walk.js";
import { GraphStateFiles } from "../../../src/store/runs/graph-state-files.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

const START = withoutHistory(createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" }));
const failing = { ...START, gateDecisions: { qaGate: "FAIL" } } as const;
const passing = { ...START, gateDecisions: { qaGate: "PASS" } } as const;
const boundary = (visit: number, nodeId = "qa") => ({
  visit,
  nodeId,
  timestamp: "2026-03-04T05:06:07.000Z",
  documentSha256: "0".repeat(64),
});

let dir: string;
let files: GraphStateFiles;

beforeEach(async () => {
  dir = await temporaryDirectory();
  files = new GraphStateFiles(dir, NO_LOCK);
});

const logPath = () => join(dir, "graph-state.jsonl");
const lines = async () => (await readFile(logPath(), "utf8")).split("\n").slice(0, -1);

describe("the current state", () => {
  test("is none for a run without a story, and looking for it makes no file", async () => {
    expect(await files.current()).toBeUndefined();
    expect(await readdir(dir)).toEqual([]);
  });

  test("is the latest kept, beside the one the run began with", async () => {
    await files.keep({ state: START, change: 0 });
    await files.keep({ state: failing, change: 3 });
    expect(await new GraphStateFiles(dir, NO_LOCK).current()).toEqual({
      state: failing,
      change: 3,
      initial: START,
    });
  });

  test("is never replaced by an older one, nor by another of the same change", async () => {
    await files.keep({ state: passing, change: 3 });
    await files.keep({ state: failing, change: 2 });
    await files.keep({ state: failing, change: 3 });
    expect(await files.current()).toMatchObject({ state: passing, change: 3 });
  });

  test.each([
    ["is no JSON", "{"],
    ["is no state", '{"change":1,"state":{},"initial":{}}'],
    ["has no count", JSON.stringify({ state: START, initial: START })],
  ])("that %s is damaged, which is said with the remedy", async (_, text) => {
    await writeFile(join(dir, "graph-state.json"), text);
    await expect(files.current()).rejects.toThrow(
      /graph-state\.json is damaged\. Restore it from a backup; graph-state\.jsonl beside it has the states\.$/u,
    );
    await expect(files.keep({ state: passing, change: 9 })).rejects.toThrow("is damaged");
  });
});

describe("the snapshots", () => {
  test("are those of all visits, in order", async () => {
    await files.keep({ state: failing, change: 2 }, boundary(2));
    await files.keep({ state: START, change: 1 }, boundary(1, "build"));
    expect(await files.snapshots()).toEqual([
      { ...boundary(1, "build"), state: START },
      { ...boundary(2), state: failing },
    ]);
    expect(await files.current()).toMatchObject({ state: failing, change: 2 });
  });

  test("of a visit is written once, by whichever process comes first", async () => {
    await files.keep({ state: failing, change: 2 }, boundary(2));
    await files.keep({ state: failing, change: 2 }, boundary(2));
    await new GraphStateFiles(dir, NO_LOCK).keep({ state: passing, change: 5 }, boundary(2));
    expect(await lines()).toHaveLength(1);
    expect(await files.snapshots()).toEqual([{ ...boundary(2), state: failing }]);
  });

  test("that others wrote are seen", async () => {
    await files.keep({ state: START, change: 1 }, boundary(1));
    expect(await files.snapshots()).toHaveLength(1);
    await new GraphStateFiles(dir, NO_LOCK).keep({ state: failing, change: 2 }, boundary(2));
    expect(await files.snapshots()).toHaveLength(2);
  });

  test("survive a line that a crash tore: the visit is written again, whole", async () => {
    await files.keep({ state: START, change: 1 }, boundary(1));
    const whole = (await lines())[0] ?? "";
    await appendFile(logPath(), whole.replace('"visit":1', '"visit":2').slice(0, -20));
    const restarted = new GraphStateFiles(dir, NO_LOCK);
    expect(await restarted.snapshots()).toHaveLength(1);
    await restarted.keep({ state: failing, change: 2 }, boundary(2));
    expect((await restarted.snapshots()).map(({ visit, state }) => [visit, state.gateDecisions])).toEqual([
      [1, {}],
      [2, { qaGate: "FAIL" }],
    ]);
    expect(await lines()).toHaveLength(3);
  });

  test("with a damaged line are refused, and the line is named", async () => {
    await files.keep({ state: START, change: 1 }, boundary(1));
    await appendFile(logPath(), '{"visit":7,"nodeId":"qa"}\n');
    await expect(new GraphStateFiles(dir, NO_LOCK).snapshots()).rejects.toThrow(
      /^the line of visit 7 in .*graph-state\.jsonl is damaged\. Restore it from a backup, or remove the line\.$/u,
    );
  });
});
