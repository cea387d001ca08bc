import { expect, test } from "vitest";
import { runPlainCalls } from "../../src/activities/run-plain-calls.js";
import type {
  ModelTurnInput,
  ModelTurnResult,
  PlannedCall,
  ToolCallInput,
  ToolCallOutcome,
} from "../../src/contract/activities.js";
import { AUDIT, TURN_INPUT, turnResult as answer } from "../fakes/turn-input.js";

const NOW = "2026-11-24T00:00:00.000Z";

const input: ModelTurnInput = {
  ...TURN_INPUT,
  runs: { stateSha256: "first", now: NOW },
};

const read = (id: string): PlannedCall => ({ id, tool: "fs.read", summary: id, key: id });
const save = (id: string): PlannedCall => ({
  ...read(id),
  tool: "fs.apply_patch",
  change: { kind: "patch", update: {} },
});

/** Runs the calls of an answer; each comes to `outcomeOf` of its id. */
async function ran(
  given: ModelTurnResult,
  outcomeOf: (id: string) => Partial<ToolCallOutcome> | Error = () => ({}),
) {
  const asked: ToolCallInput[] = [];
  const result = await runPlainCalls(input, given, (call) => {
    asked.push(call);
    const outcome = outcomeOf(call.callId);
    return outcome instanceof Error
      ? Promise.reject(outcome)
      : Promise.resolve({ ok: true, audit: AUDIT, ...outcome });
  });
  return { asked, outcomes: result.ran?.outcomes.length ?? 0 };
}

test("calls of file tools are run in order, each with the version of the document that those before it have left", async () => {
  const { asked, outcomes } = await ran(answer([read("one"), read("two"), save("three")]), (id) =>
    id === "one" ? { state: { sha256: "second", artifact: "artifacts/x.md" } } : {},
  );
  expect(asked.map(({ callId, stateSha256 }) => [callId, stateSha256])).toEqual([
    ["one", "first"],
    ["two", "second"],
    ["three", "second"],
  ]);
  expect(asked.every(({ now }) => now === NOW)).toBe(true);
  expect(outcomes).toBe(3);
});

const wrong: PlannedCall = { ...read("wrong"), fault: { code: "TOOL_ARGS_INVALID", message: "no" } };
const outside: PlannedCall = {
  id: "outside",
  external: { name: "x.y", effect: "none", timeoutMs: 1 },
  summary: "",
  key: "",
};
const told: PlannedCall = { ...read("told"), tool: "state.record", record: {} };

test.each([
  ["a call that cannot run", wrong],
  ["a call of an external tool", outside],
  ["a record of the graph state", told],
])("%s is the workflow's, with all that follow", async (_, call) => {
  const { asked, outcomes } = await ran(answer([read("one"), call, read("two")]));
  expect(asked.map(({ callId }) => callId)).toEqual(["one"]);
  expect(outcomes).toBe(1);
});

test("what follows a change of the document is the workflow's: it may have ended the run", async () => {
  const { asked } = await ran(answer([save("one"), read("two")]), () => ({ state: { sha256: "second" } }));
  expect(asked).toHaveLength(1);
});

test("what follows a document that was changed from outside is the workflow's", async () => {
  const { asked } = await ran(answer([read("one"), read("two")]), () => ({ ok: false, stateConflict: true }));
  expect(asked).toHaveLength(1);
});

test("a call that does not work is the workflow's to try again", async () => {
  const { outcomes } = await ran(answer([read("one"), read("two")]), (id) =>
    id === "two" ? new Error("The disk is full.") : {},
  );
  expect(outcomes).toBe(1);
});

test("no call runs of an answer that was cut off or refused", async () => {
  const cut = await ran(answer([read("one")], { cutOff: true }));
  const refused = await ran(answer([read("one")], { refusal: { code: "LLM_REFUSED", words: "" } }));
  expect([...cut.asked, ...refused.asked]).toEqual([]);
});
