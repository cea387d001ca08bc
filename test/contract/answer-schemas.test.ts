import { describe, expect, test } from "vitest";
import { parseJsonAnswer } from "../../src/contract/answer-schemas.js";
import { type StoreQuestionName, STORE_QUESTIONS } from "../../src/contract/reads.js";
import type { JsonAnswers } from "../../src/contract/read-answers.js";

/** Answered by bytes. */
const FILES: readonly StoreQuestionName[] = ["read.artifact", "read.file"];
const NAMES = STORE_QUESTIONS.filter((name) => !FILES.includes(name)) as (keyof JsonAnswers)[];
const parse = (name: keyof JsonAnswers, text: string) => parseJsonAnswer(name, Buffer.from(text));
const REFUSED = { ok: false, error: { code: "E_INTERNAL", message: expect.any(String) as string } };

describe.each(NAMES)("what a store elsewhere answers to %s", (name) => {
  test.each(["", "null", "5", "[]", '"x"', "{}", '{"__proto__":{}}', "{", "[".repeat(100_000), "\uFFFD"])(
    "is refused where it is %j",
    (text) => {
      expect(parse(name, text)).toMatchObject(REFUSED);
    },
  );
});

test("a run's id that a store elsewhere says names no file outside of the directory at hand", () => {
  const metadata = {
    runId: "5b0c0000-0000-4000-8000-000000000000",
    projectId: "p",
    packageId: "p",
    workflowRef: "",
    activeAgentId: "a",
    phase: "completed",
    createdAt: "2026-11-26T00:00:00.000Z",
    lastUpdatedAt: "2026-11-26T00:00:00.000Z",
  };
  const facts = (runId: string) => ({
    metadata: { ...metadata, runId },
    projectRoot: null,
    status: null,
    standing: { currentNodeId: "", stepsCompleted: [], variables: {}, artifacts: [] },
    places: { stateFile: null, logFile: null, sessionFolder: null },
    said: "by a later version",
  });
  const good = facts(metadata.runId);
  expect(parse("read.run", JSON.stringify(good))).toEqual({ ok: true, value: good });
  for (const runId of ["x/../../../tmp/y", "..", "", `${metadata.runId}/..`]) {
    expect(parse("read.run", JSON.stringify(facts(runId)))).toMatchObject(REFUSED);
  }
});

test("an event of a kind that only a later version knows is let through", () => {
  const answer = (event: object) =>
    JSON.stringify({
      runId: "5b0c0000-0000-4000-8000-000000000000",
      phase: "running",
      createdAt: "2026-11-26T00:00:00.000Z",
      events: [event],
      next: { offset: 1, lines: 1 },
      more: false,
    });
  const ts = "2026-11-26T00:00:00.000Z";
  expect(parse("read.events", answer({ kind: "later.kind", seq: 1, ts }))).toMatchObject({ ok: true });
  expect(parse("read.events", answer({ kind: "model.turn", seq: 1, ts }))).toMatchObject(REFUSED);
});
