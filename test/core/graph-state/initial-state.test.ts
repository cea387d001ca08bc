import { describe, expect, test } from "vitest";
import { createInitialState } from "../../../src/core/graph-state/initial-state.js";
import { type GraphStateStart, openingState } from "../../../src/core/graph-state/initial-state.js";
import { withoutHistory } from "../../../src/core/graph-state/walk.js";

const START = createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" });
const SNAPSHOT = { ...withoutHistory(START), gateDecisions: { qaGate: "PASS" } } as const;
const errorsOf = (start: GraphStateStart) => {
  const opening = openingState(start);
  return opening.ok ? undefined : opening.error;
};

describe("the state a run begins with", () => {
  test("is none without a story", () => {
    expect(openingState({})).toEqual({ ok: true, value: undefined });
  });

  test("takes the epic from the story's prefix, unless it is given", () => {
    expect(openingState({ storyId: "wrkf-1010" })).toEqual({ ok: true, value: START });
    expect(openingState({ storyId: "wrkf-1010", epicPrefix: "WRKF" })).toEqual({
      ok: true,
      value: { ...START, epicPrefix: "WRKF" },
    });
  });

  test("is that of a snapshot, which may be named again", () => {
    const expected = { ok: true, value: { ...SNAPSHOT, stateHistory: [] } };
    expect(openingState({ graphState: SNAPSHOT })).toEqual(expected);
    expect(openingState({ graphState: SNAPSHOT, storyId: "wrkf-1010", epicPrefix: "wrkf" })).toEqual(
      expected,
    );
  });

  test.each<[string, GraphStateStart, string]>([
    ["a story without digits", { storyId: "wrkf" }, "storyId"],
    ["a story of another epic", { storyId: "wrkf-1", epicPrefix: "other" }, "storyId"],
    ["an epic without a story", { epicPrefix: "wrkf" }, "storyId"],
    ["no words", { storyId: "" }, "epicPrefix"],
    ["a snapshot of another story", { graphState: SNAPSHOT, storyId: "wrkf-2" }, "storyId"],
    ["a snapshot of another epic", { graphState: SNAPSHOT, epicPrefix: "WRKF" }, "epicPrefix"],
    ["a snapshot that is not valid", { graphState: { ...SNAPSHOT, epicPrefix: "" } }, "epicPrefix"],
  ])("is refused for %s", (_, start, path) => {
    expect(errorsOf(start)).toMatchObject({
      code: "E_SCHEMA_VALIDATION",
      message: expect.stringContaining(`cannot carry this story: ${path}: `) as string,
      details: { errors: [{ path }, ...(start.storyId === "" ? [{ path: "storyId" }] : [])] },
    });
  });

  test("is refused where its first snapshot would be too large for any history", () => {
    expect(errorsOf({ storyId: `wrkf-${"1".repeat(70_000)}` })?.code).toBe("E_WRITE_LIMIT");
  });
});
