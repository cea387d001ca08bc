import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { quickTurns } from "../../src/activities/quick-turns.js";
import type {
  ModelTurnInput,
  ModelTurnResult,
  PlannedCall,
  ToolCallOutcome,
} from "../../src/contract/activities.js";
import { AUDIT, TURN_INPUT, turnResult } from "../fakes/turn-input.js";

const NOW = "2026-11-25T00:00:00.000Z";

const input: ModelTurnInput = {
  ...TURN_INPUT,
  turn: 3,
  correction: "Do not repeat it.",
  resumes: "visit-0",
  story: { storyId: "s", gateDecisions: {}, artifactPaths: {} },
  runs: { stateSha256: "first", now: NOW },
  ahead: 7,
};

const read: PlannedCall = { id: "read", tool: "fs.read", summary: "", key: "" };
const save: PlannedCall = { ...read, tool: "fs.apply_patch", change: { kind: "patch", update: {} } };
const done: ToolCallOutcome = { ok: true, audit: AUDIT };

/** A turn whose calls have come to `outcomes`. */
function turn(
  outcomes: readonly ToolCallOutcome[] = [done],
  calls: readonly PlannedCall[] = outcomes.map(() => read),
): ModelTurnResult {
  return turnResult(calls, { ran: { now: NOW, outcomes } });
}

const OVER = turnResult([], { ran: { now: NOW, outcomes: [] }, text: "Which colour?" });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "Date"], now: new Date(NOW) });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Takes turns that come to `results` in turn, each after `eachMs`. */
async function taken(
  results: readonly (ModelTurnResult | undefined)[],
  { eachMs = 10, ...changes }: Partial<ModelTurnInput> & { eachMs?: number } = {},
) {
  const asked: { readonly input: ModelTurnInput; readonly withinMs: number }[] = [];
  const kept: unknown[] = [];
  const result = await quickTurns(
    { ...input, ...changes },
    {
      take(each, withinMs) {
        asked.push({ input: each, withinMs });
        vi.advanceTimersByTime(eachMs);
        return Promise.resolve(results[asked.length - 1]);
      },
      keep({ visit, turn }, documentSha256) {
        kept.push({ turn, documentSha256 });
        return Promise.resolve({ visit, next: "on", documentSha256 });
      },
    },
  );
  return { asked, result, kept };
}

test("turns that follow in a moment are taken along, each as the workflow would ask for it", async () => {
  const written = { ...done, state: { sha256: "second", artifact: "artifacts/x.md" } };
  const results = [turn([done]), turn([written, done]), turn(), OVER];
  const { asked, result } = await taken(results);
  expect(asked.map(({ withinMs }) => withinMs)).toEqual([1_000, 990, 980, 970]);
  const { correction: _, resumes: _resumes, story: _story, ahead: _ahead, ...plain } = input;
  const inputs = asked.map((each) => each.input);
  expect(inputs[0]).toEqual(input);
  expect(inputs.slice(1)).toEqual([
    { ...plain, ahead: 7, turn: 4, runs: { stateSha256: "first", now: "2026-11-25T00:00:00.010Z" } },
    { ...plain, ahead: 7, turn: 5, runs: { stateSha256: "second", now: "2026-11-25T00:00:00.020Z" } },
    { ...plain, ahead: 7, turn: 6, runs: { stateSha256: "second", now: "2026-11-25T00:00:00.030Z" } },
  ]);
  expect(result).toEqual({ ...results[0], tookMs: 40, ahead: results.slice(1) });
});

describe("the workflow is asked before the next turn", () => {
  test.each<[string, ModelTurnResult]>([
    ["an answer without calls", OVER],
    ["calls that are the workflow's", turn([done], [read, read])],
    ["calls of which none has run", turnResult([read])],
    ["a call that has failed", turn([{ ...done, ok: false, code: "ENOENT" }])],
    ["a change of the state document", turn([done], [save])],
    ["a document that was changed from outside", turn([{ ...done, stateConflict: true }])],
  ])("after %s", async (_, first) => {
    const { asked, result } = await taken([first, turn()]);
    expect(asked).toHaveLength(1);
    expect(result).toEqual({ ...first, tookMs: 10 });
  });

  test("after as many as it has allowed", async () => {
    const many = Array.from({ length: 4 }, () => turn());
    expect((await taken(many, { ahead: 2 })).asked).toHaveLength(3);
    expect((await taken(many, { ahead: 0 })).asked).toHaveLength(1);
    const { ahead: _, ...old } = input;
    const steps = { take: () => Promise.resolve(many[0]), keep: () => Promise.resolve(undefined) };
    expect(await quickTurns(old, steps)).toEqual({ ...many[0], tookMs: 0 });
  });

  test("after so many bytes that what follows fits into a payload with them", async () => {
    const many = Array.from({ length: 8 }, () => ({ ...turn(), text: "文".repeat(8_000) }));
    const { asked, result } = await taken(many);
    expect(asked).toHaveLength(3);
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(100_000);
  });

  test("after half of the moment", async () => {
    const many = Array.from({ length: 4 }, () => turn());
    const { asked } = await taken(many, { eachMs: 300 });
    expect(asked.map(({ withinMs }) => withinMs)).toEqual([1_000, 700]);
  });
});

test("a turn that is not over in time is left to whoever asks next, those before it stand", async () => {
  expect((await taken([undefined, turn()])).result).toBeUndefined();
  const { asked, result } = await taken([turn(), turn(), undefined, turn()]);
  expect(asked).toHaveLength(3);
  expect(result?.ahead).toHaveLength(1);
  // The workflow asks for the next one as for any that is slow.
  expect(result?.tookMs).toBe(1_001);
});

describe("the boundary of a visit is kept with the turn", () => {
  const moved = { ...done, state: { sha256: "third" } };
  const last = turn([done, moved], [read, save]);

  test("whose last call has changed the document, of the version that it has made", async () => {
    const { result, kept } = await taken([turn(), last], { keeps: true });
    expect(kept).toEqual([{ turn: 4, documentSha256: "third" }]);
    expect(result?.kept).toEqual({ visit: input.visit, next: "on", documentSha256: "third" });
  });

  test.each<[string, ModelTurnResult, Partial<ModelTurnInput>]>([
    ["where the workflow did not ask for it", last, {}],
    ["of a turn that only reads", turn(), { keeps: true, ahead: 0 }],
    ["of calls that are not over", turn([moved], [save, read]), { keeps: true }],
    ["of a change that did not work", turn([{ ...moved, ok: false }], [save]), { keeps: true }],
    ["of a turn whose calls the workflow runs", turnResult([save]), { keeps: true }],
    ["of an artifact that the document names", turn([moved]), { keeps: true, ahead: 0 }],
  ])("but not %s", async (_, only, changes) => {
    const { result, kept } = await taken([only], changes);
    expect(kept).toEqual([]);
    expect(result).not.toHaveProperty("kept");
  });
});
