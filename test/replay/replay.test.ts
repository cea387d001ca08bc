import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { beforeAll, describe, expect, test } from "vitest";
import { readHistory, replayHistory } from "../../src/replay.js";
import { workflowBundle } from "../../src/worker/workflow-bundle.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { HISTORIES, recordedHistories } from "./histories.js";

/**
 * Histories of real runs, recorded with `npm run histories` for each version that is released. A change of workflow code that
 * does not follow them breaks the runs that are under way: guard it with `patched()`.
 */
const RECORDED = [...recordedHistories().keys()];

const historyOf = (name: string): Promise<History> => readHistory(join(HISTORIES, name));

beforeAll(() => {
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
});

test("a history is read as Windows saves it, and refused in UTF-16 by its encoding", async () => {
  const text = `\uFEFF${await readFile(join(HISTORIES, RECORDED[0] ?? ""), "utf8")}`;
  const path = join(await temporaryDirectory(), "history.json");
  await writeFile(path, text);
  expect((await readHistory(path)).events?.length).toBeGreaterThan(0);
  await writeFile(path, Buffer.from(text, "utf16le"));
  await expect(readHistory(path)).rejects.toThrow("The file is UTF-16 text");
});

describe("the replay gate", () => {
  test.each(RECORDED)("%s leads the code at hand to the same decisions", async (name) => {
    const history = await historyOf(name);
    expect(await replayHistory(history)).toEqual({ ok: true, events: history.events?.length });
  });

  test("no run leaves behind what leads another one of its worker elsewhere", async () => {
    const histories = await Promise.all(
      RECORDED.map(async (name) => ({ workflowId: name, history: await historyOf(name) })),
    );
    const order = [...histories, ...histories.toReversed(), ...histories];
    const departures: string[] = [];
    let count = 0;
    for await (const result of Worker.runReplayHistories({ workflowBundle: await workflowBundle() }, order)) {
      count += 1;
      if (result.error !== undefined) departures.push(`${result.workflowId}: ${result.error.message}`);
    }
    expect({ count, departures }).toEqual({ count: order.length, departures: [] });
  });

  test("a history in which another activity was scheduled is a departure", async () => {
    const history = await historyOf("0.1.0/graph-question.1.json");
    const scheduled = history.events?.find(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === "model.turn",
    );
    const type = scheduled?.activityTaskScheduledEventAttributes?.activityType;
    if (!type) throw new Error("The history has no model turn.");
    type.name = "run.phase";
    expect(await replayHistory(history)).toMatchObject({
      ok: false,
      departure: expect.stringContaining("run.phase"),
    });
  });

  test("a history in which a local activity has another type is a departure", async () => {
    const history = await historyOf("0.1.0/graph-refused-transition.1.json");
    const marker = history.events?.find((event) => event.markerRecordedEventAttributes?.details?.["data"]);
    const details = marker?.markerRecordedEventAttributes?.details;
    const [payload] = details?.["data"]?.payloads ?? [];
    if (!payload) throw new Error("The history has no local activity.");
    const text = Buffer.from(payload.data ?? []).toString("utf8");
    expect(text).toContain('"activity_type":');
    payload.data = Buffer.from(text.replace(/"activity_type":"[^"]*"/, '"activity_type":"fs.write"'));
    expect(await replayHistory(history)).toMatchObject({ ok: false });
  });
});
