import { describe, expect, test } from "vitest";
import { runMemoSchema } from "../../../src/contract/run-memo.js";
import { isPrintable } from "../../../src/core/printable.js";
import { firstLine } from "../../../src/core/run/listed-texts.js";
import { runNote } from "../../../src/core/engine/run-note.js";
import { RunRecord } from "../../../src/core/engine/run-record.js";

const RUN_ID = "6a5c3a0e-0000-4000-8000-000000000001";
const SINCE = "2026-01-01T00:00:00.000Z";

describe("what a listing shows of a run", () => {
  test("holds nothing before the run is open but its phase and its project's name", () => {
    const record = new RunRecord({ runId: RUN_ID, projectRoot: String.raw`C:\work\shop` + "\\" }, false);
    expect(runNote(record, SINCE)).toEqual({ runId: RUN_ID, phase: "idle", project: "shop", since: SINCE });
  });

  test("names the run above of a subworkflow's run", () => {
    const record = new RunRecord({ runId: RUN_ID, parent: { runId: "a" } }, false);
    const note = runNote(record, SINCE);
    expect(note).toMatchObject({ parent: "a" });
    expect(runMemoSchema.safeParse(note).success).toBe(true);
  });

  test("has the question's first line, printable and short, and fits its schema whatever was asked", () => {
    const record = new RunRecord({ runId: RUN_ID, projectRoot: "/" }, false);
    record.update({ phase: "waiting-user", paused: true });
    for (const text of ["\n\n  Which \u202eone?\nMore", "\u001B".repeat(1_000), "é".repeat(1_000), ""]) {
      record.question = { nodeId: "ask", text };
      const note = runNote(record, SINCE);
      expect(runMemoSchema.safeParse(note).success).toBe(true);
      expect(note.paused).toBe(true);
      expect(isPrintable(note.question ?? "\n")).toBe(true);
    }
    expect(firstLine("\r\n \n  a b  \nc")).toBe("a b");
    expect(firstLine("")).toBe("");
  });
});
