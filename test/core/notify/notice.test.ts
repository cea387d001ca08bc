import { describe, expect, test } from "vitest";
import { CANCELLED } from "../../../src/core/run/run-result.js";
import { commandOf, eventOf, parseNotice, toNotice } from "../../../src/core/notify/notice.js";
import { noticeLine, noticeText } from "../../../src/core/notify/notice-texts.js";
import { isPrintable } from "../../../src/core/printable.js";
import { aNotice } from "./a-notice.js";

const AT = new Date("2026-01-02T03:04:05.678Z");

describe("what somebody is told of", () => {
  test.each([
    ["started", { change: 0, phase: "running" }],
    ["running", { change: 3, phase: "running" }],
    ["question", { change: 1, phase: "waiting-user" }],
    ["question", { change: 1, phase: "waiting-user", paused: true }],
    ["paused", { change: 2, phase: "waiting-user", paused: true, again: true }],
    ["paused", { change: 2, phase: "running", paused: true, again: true }],
    ["running", { change: 3, phase: "running", again: true }],
    ["completed", { change: 4, phase: "completed" }],
    ["failed", { change: 4, phase: "failed", fault: { code: "E_INTERNAL", message: "x" } }],
    ["failed", { change: 4, phase: "failed", fault: { code: "ENGINE_ABORTED", message: "It is over." } }],
    ["cancelled", { change: 4, phase: "failed", fault: CANCELLED }],
  ] as const)("is %s after %j", (event, change) => expect(eventOf(change)).toBe(event));

  test.each([
    { change: 2, phase: "waiting-user", again: true },
    { change: 1, phase: "idle" },
  ] as const)("is nothing after %j: a question that waits is told once", (change) => {
    expect(eventOf(change)).toBeUndefined();
  });

  test.each([
    ["question", undefined, "interlock answer x"],
    ["question", { id: "2.3", text: "?" }, "interlock answer x --question 2.3"],
    [
      "question",
      { id: "2.3", text: "?", code: "BUDGET_EXCEEDED" },
      "interlock budget x --add-turns|--add-tokens|--add-cost <n>",
    ],
    ["paused", undefined, "interlock resume x"],
    ["failed", undefined, "interlock retry x"],
    ["cancelled", undefined, "interlock retry x"],
    ["completed", undefined, "interlock artifacts x"],
    ["started", undefined, "interlock watch x"],
  ] as const)("of %s with %j goes on with a command", (event, question, command) => {
    expect(commandOf({ event, runId: "x", question })).toBe(command);
  });
});

describe("a notice", () => {
  test("is read as it was written, and nothing else is taken for one", () => {
    const notice = toNotice(aNotice().data, AT);
    expect(notice).toMatchObject({ type: "run.question", timestamp: "2026-01-02T03:04:05.678Z" });
    expect(parseNotice(JSON.parse(JSON.stringify(notice)))).toEqual(notice);
    expect(parseNotice({ type: "run.question" })).toBeUndefined();
  });

  test("of a hostile text is printable, bounded, and without secrets and paths of the machine", () => {
    const hostile = `A\u202eB\r\nC\u0007\u2028D sk-abcdefghijklmnop1234 /home/user/x \ud800 ${"long ".repeat(9_000)}`;
    const text = noticeText(hostile);
    expect(text.split("\n").every(isPrintable)).toBe(true);
    expect(text).toContain("A\\u{202e}B\nC\\u{7}\\u{2028}D <secret> <path>");
    expect(text.length).toBeLessThanOrEqual(2_001);
    const line = noticeLine(hostile);
    expect(isPrintable(line)).toBe(true);
    expect(line).toContain("<secret> <path>");
    expect(line.length).toBeLessThanOrEqual(301);
  });
});
