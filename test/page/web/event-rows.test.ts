import { expect, test } from "vitest";
import type { RunEvent } from "../../../src/core/run/run-event.js";
import { toEventRow } from "../../../src/page/web/event-rows.js";

const COMMON = {
  schemaVersion: "1.0",
  seq: 1,
  runId: "r",
  ts: "2026-01-01T00:00:00Z",
  nodeId: "ask",
} as const;

function called(output: unknown): RunEvent {
  const call = { agentId: "a", toolCallId: "c", toolName: "fs.read", input: { path: "@project/a.md" } };
  return { ...COMMON, kind: "tool.exec", ...call, output, durationMs: 3 };
}

test.each([
  [{ ok: true }, undefined],
  [{ ok: false, error: { code: "ENOENT" } }, "failed"],
  [{ ok: false, error: { code: "E_INVALID_TRANSITION" } }, "refused"],
  [{ ok: false }, "refused"],
  [{ success: true, size: 3 }, undefined],
  [{ success: false, error: "There is no such file." }, "failed"],
  [{ sha256: "x", bytes: 3 }, undefined],
])("a call that is not there has failed, one against a rule was refused: %j", (output, outcome) => {
  expect(toEventRow(called(output)).outcome).toBe(outcome);
});

test("a bundle's call that has failed is told with its sentence", () => {
  const { details, outcome } = toEventRow(called({ success: false, error: "There is no such file." }));
  expect({ details, outcome }).toEqual({ details: "There is no such file. · 3 ms", outcome: "failed" });
});

test("what a user says is shown with its first words: the first ones of a run answer nothing", () => {
  const input = { content: { bytes: 10, sha256: "x", preview: "The heron." } };
  const row = toEventRow({ ...COMMON, kind: "user.input", id: "begin", input, by: "eve@desk" });
  expect(row).toMatchObject({ what: "the user says: The heron.", details: "by eve@desk" });
});
