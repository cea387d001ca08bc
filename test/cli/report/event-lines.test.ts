import { expect, onTestFinished, test, vi } from "vitest";
import { eventLine, eventWords, turnAfter } from "../../../src/cli/report/event-lines.js";
import type { RunEvent } from "../../../src/core/run/run-event.js";
import { timeOf } from "../../../src/cli/terminal/time-of-day.js";

const common = { schemaVersion: "1.0", seq: 1, runId: "r", ts: "2026-01-02T03:04:05.000Z" } as const;
const by = { nodeId: "draft", agentId: "author" } as const;

function called(output: object): RunEvent {
  return {
    ...common,
    ...by,
    kind: "tool.exec",
    toolCallId: "c",
    toolName: "t",
    input: {},
    output,
    durationMs: 1,
  };
}

test.each([
  [{ ok: true }, undefined],
  [{ success: true, size: 3 }, undefined],
  [{ ok: false, error: { code: "E_INVALID_TRANSITION" } }, "t: E_INVALID_TRANSITION"],
  [{ success: false, error: "There is no such file." }, "t: There is no such file."],
  [{ ok: false }, "t: refused"],
])("a call is told of where it has failed, and why: %j", (output, words) => {
  expect(eventWords(called(output))).toBe(words);
});

test("whoever watches a run is told no node's name for a turn that may be another's", () => {
  const used = { promptTokens: 1, completionTokens: 1, cost: 0, durationMs: 1 };
  const turn: RunEvent = {
    ...common,
    ...by,
    kind: "model.turn",
    visit: 1,
    turn: 2,
    model: "m",
    calls: 1,
    ...used,
  };
  const draft = turnAfter(turn, "");
  expect(draft).toBe("model turn 3 · draft");
  expect(turnAfter(called({ ok: true, path: "@state/workflow.md", sha256After: "0" }), draft)).toBe("");
  // Nothing was moved by these.
  for (const output of [
    { ok: false, error: { code: "E_INVALID_TRANSITION" } },
    { ok: true, path: "@state/workflow.md", sha256: "0" },
    { ok: true, path: "@project/artifacts/a.md", sha256After: "0" },
  ]) {
    expect(turnAfter(called(output), draft)).toBe(draft);
  }
});

test("a run's end tells what was used for answers that were none", () => {
  const ended: RunEvent = {
    ...common,
    ...by,
    kind: "run.phase",
    phase: "failed",
    change: 1,
    code: "LLM_BAD_RESPONSE",
  };
  const used = { promptTokens: 200, completionTokens: 20, cost: 0.4 };
  expect(eventLine({ ...ended, ...used })).toMatch(
    /failed · 200\+20 tokens for no answer · LLM_BAD_RESPONSE: $/,
  );
});

test("an event's time of day is that of the place, as the listing of runs has it", () => {
  vi.stubEnv("TZ", "Asia/Kolkata");
  onTestFinished(() => void vi.unstubAllEnvs());
  const begun: RunEvent = { ...common, ...by, kind: "run.phase", phase: "running", change: 1 };
  const at = new Date(common.ts);
  expect(eventLine(begun, at)).toMatch(/^08:34:05  draft +running$/);
  expect(timeOf(common.ts, at)).toBe("08:34:05");
});

test("an event of a run that has waited for months says its day, and so does one that a clock set back has ahead of it", () => {
  vi.stubEnv("TZ", "Asia/Kolkata");
  onTestFinished(() => void vi.unstubAllEnvs());
  const asked: RunEvent = { ...common, ...by, kind: "run.phase", phase: "waiting-user", change: 1 };
  const day = new Date(common.ts).toLocaleDateString("sv", { timeZone: "Asia/Kolkata" });
  for (const days of [90, -90]) {
    const now = new Date(Date.parse(common.ts) + days * 86_400_000);
    expect(eventLine(asked, now)).toMatch(new RegExp(`^${day} 08:34  draft +waiting-user$`));
  }
});
