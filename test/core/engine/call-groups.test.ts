import { describe, expect, test } from "vitest";
import { fail } from "../../../src/core/errors.js";
import {
  callRefusal,
  groupCalls,
  noteRefusal,
  observe,
  takeOutcome,
} from "../../../src/core/engine/call-groups.js";
import { ENDING_KEY } from "../../../src/core/run/loop-detection.js";
import { NOW, openedRecord, storyRecord } from "./record-world.js";

const FAULT = fail("E_SCHEMA_VALIDATION", "wrong").error;
const AUDIT = { lines: 1, sha256: "one" };

describe("the calls of one answer run", () => {
  test.each([
    ["not at all where there are none", [], []],
    ["side by side where they read", ["fs.read", "fs.list", "fs.search"], [3]],
    ["one after the other where they write", ["fs.write", "fs.write"], [1, 1]],
    ["in order where reads and writes alternate", ["fs.read", "fs.read", "fs.write", "fs.read"], [2, 1, 1]],
    ["side by side where a bundle reads", ["read_file", "preload_workflow", "save_output"], [2, 1]],
    ["alone where there is no such tool", ["fs.read", undefined, "fs.read"], [1, 1, 1]],
  ])("%s", (_, tools, sizes) => {
    const calls = tools.map((tool, id) => ({ id, ...(tool === undefined ? {} : { tool }) }));
    const groups = groupCalls(calls);
    expect(groups.map(({ length }) => length)).toEqual(sizes);
    expect(groups.flat()).toEqual(calls);
  });

  test("of external tools side by side where they change nothing, else alone", () => {
    const calls = (["none", "none", "idempotent", "once"] as const).map((effect) => ({
      external: { effect },
    }));
    expect(groupCalls([{ tool: "fs.read" }, ...calls]).map(({ length }) => length)).toEqual([3, 1, 1]);
  });

  test("alone where a read has a fault", () => {
    const calls = [{ tool: "fs.read" }, { tool: "fs.read", fault: FAULT }, { tool: "fs.read" }];
    expect(groupCalls(calls)).toHaveLength(3);
  });
});

test("a call is not run that has a fault, and none once the run is complete", () => {
  expect(callRefusal(openedRecord(), {})).toBeUndefined();
  expect(callRefusal(openedRecord(), { fault: FAULT })).toBe(FAULT);
  const over = openedRecord({ carried: { ended: true } });
  expect(callRefusal(over, { fault: FAULT })).toMatchObject({ code: "TOOL_NOT_AVAILABLE" });
});

test("a refused call stands in the live view, at the node it was made for", () => {
  const record = openedRecord();
  noteRefusal(record, "review", FAULT);
  expect(record.carried.progress).toEqual([
    { seq: 1, nodeId: "review", text: "refused with E_SCHEMA_VALIDATION: wrong" },
  ]);
});

describe("how a call went", () => {
  const call = { tool: "fs.write", summary: "fs.write x", key: "k" };
  const outcomeOf = (outcome: object) => ({
    call,
    outcome: { ok: false, audit: AUDIT, ...outcome },
    now: NOW,
  });

  test("is counted, and shown with its code where it failed", () => {
    const record = openedRecord();
    takeOutcome(record, "draft", outcomeOf({ ok: true }));
    takeOutcome(record, "draft", outcomeOf({ code: "E_NOT_FOUND" }));
    takeOutcome(record, "draft", outcomeOf({}));
    expect(record.carried).toMatchObject({ usage: { toolCalls: 3 }, audit: AUDIT });
    expect(record.carried.progress.map(({ text }) => text)).toEqual([
      "fs.write x",
      "fs.write x → E_NOT_FOUND",
      "fs.write x → failed",
    ]);
  });

  test("is an error of the graph state where it failed", () => {
    const record = storyRecord();
    takeOutcome(record, "draft", outcomeOf({ code: "E_NOT_FOUND", message: "no" }));
    expect(record.carried.story?.state.errors).toMatchObject([{ code: "E_NOT_FOUND", recoverable: true }]);
  });

  test("earns a correction at the third failure of the same kind, and a question at the fourth", () => {
    const record = openedRecord();
    const verdicts = Array.from({ length: 4 }, () => takeOutcome(record, "draft", outcomeOf({})));
    expect(verdicts).toEqual(["go-on", "go-on", "correct", "ask-user"]);
    expect(takeOutcome(record, "draft", outcomeOf({ ok: true }))).toBe("go-on");
    expect(record.carried.loop.failures).toBe(0);
  });

  test.each([
    ["in a bundle run", { noticesRepeats: true }, "bundle", {}, "correct-repeated"],
    ["not where the run was opened without it", {}, "bundle", {}, "go-on"],
    ["not in a graph run", { noticesRepeats: true }, undefined, {}, "go-on"],
    [
      "not of an external tool",
      { noticesRepeats: true },
      "bundle",
      { external: { effect: "none" } },
      "go-on",
    ],
  ] as const)("again and again although it works is noticed %s", (_, opener, kind, of, fifth) => {
    const run = { ...openedRecord().opened.run, ...(kind === undefined ? {} : { kind }) };
    const record = openedRecord({ opened: { ...opener, run } });
    const outcome = { ok: true, audit: AUDIT };
    const take = () => takeOutcome(record, "draft", { call: { ...call, ...of }, outcome, now: NOW });
    const verdicts = Array.from({ length: 5 }, take);
    expect(verdicts).toEqual(["go-on", "go-on", "go-on", "go-on", fifth]);
  });

  test("again and again is noticed of a read, too, behind an end that was none", () => {
    const run = { ...openedRecord().opened.run, kind: "bundle" as const };
    const record = openedRecord({ opened: { noticesRepeats: true, run } });
    observe(record, ENDING_KEY, false);
    const read = { call: { ...call, tool: "read_file" }, outcome: { ok: true, audit: AUDIT }, now: NOW };
    const verdicts = Array.from({ length: 8 }, () => takeOutcome(record, "draft", read));
    expect([verdicts[4], verdicts[7]]).toEqual(["correct-repeated", "ask-of-repeated"]);
    expect(record.carried.loop).toMatchObject({ key: ENDING_KEY, failures: 1 });
  });

  test.each([
    ["a read is no progress", "fs.read", undefined, 1],
    ["a write is", "fs.write", "go-on", 0],
  ])("%s of a model that says it is done while something is missing", (_, tool, verdict, failures) => {
    const record = openedRecord();
    observe(record, ENDING_KEY, false);
    const outcome = { ok: true, audit: AUDIT };
    expect(takeOutcome(record, "draft", { call: { ...call, tool }, outcome, now: NOW })).toBe(verdict);
    expect(record.carried.loop.failures).toBe(failures);
  });
});
