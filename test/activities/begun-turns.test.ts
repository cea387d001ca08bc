import { expect, test, vi } from "vitest";
import { BegunTurns } from "../../src/activities/begun-turns.js";
import type { ModelTurnInput, ModelTurnResult } from "../../src/contract/activities.js";

// What is asked and answered here is known by its key alone.
const INPUT = { run: { runId: "run" }, visit: 1, turn: 1 } as ModelTurnInput;
const RESULT = { text: "said" } as ModelTurnResult;

/** A turn that ends when it is told to. */
function openTurn() {
  const signals: AbortSignal[] = [];
  let end: (result: ModelTurnResult) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const take = (signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<ModelTurnResult>((resolve, reject) => {
      end = resolve;
      fail = reject;
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  };
  return { take, signals, end: () => end(RESULT), fail: (error: Error) => fail(error) };
}

const never = new AbortController().signal;

test("a turn that ends in time is over: nobody takes it over", async () => {
  const begun = new BegunTurns();
  expect(await begun.begin(INPUT, 1_000, () => Promise.resolve(RESULT))).toBe(RESULT);
  expect(begun.takeOver(INPUT, never)).toBeUndefined();
});

test("a turn that takes longer is taken over, once, with its result", async () => {
  const begun = new BegunTurns();
  const turn = openTurn();
  expect(await begun.begin(INPUT, 1, turn.take)).toBeUndefined();
  const taken = begun.takeOver(INPUT, never);
  expect(begun.takeOver(INPUT, never)).toBeUndefined();
  turn.end();
  expect(await taken).toBe(RESULT);
});

test("a failure is that of whoever takes the turn over", async () => {
  const begun = new BegunTurns();
  const failure = new Error("refused");
  expect(await begun.begin(INPUT, 1_000, () => Promise.reject(failure))).toBeUndefined();
  await expect(begun.takeOver(INPUT, never)).rejects.toBe(failure);
});

test("the same turn is begun once, whoever begins it again", async () => {
  const begun = new BegunTurns();
  const turn = openTurn();
  expect(await begun.begin(INPUT, 1, turn.take)).toBeUndefined();
  const again = begun.begin(INPUT, 10_000, turn.take);
  turn.end();
  expect(await again).toBe(RESULT);
  expect(turn.signals).toHaveLength(1);
});

test("a turn of another entry of models is another one, also where that is the same model at the same endpoint", async () => {
  const begun = new BegunTurns();
  const [flex, plain] = ["flex", "plain"].map((name) => {
    return { ...INPUT, model: { name, model: "m", endpoint: "https://m.example/v1" } };
  }) as [ModelTurnInput, ModelTurnInput];
  expect(await begun.begin(flex, 1, openTurn().take)).toBeUndefined();
  expect(begun.takeOver(plain, never)).toBeUndefined();
});

test("those of a run that is over are called off, and their end is waited for", async () => {
  const begun = new BegunTurns();
  const [turn, other] = [openTurn(), openTurn()];
  expect(await begun.begin(INPUT, 1, turn.take)).toBeUndefined();
  const another = { ...INPUT, run: { ...INPUT.run, runId: "other" } };
  expect(await begun.begin(another, 1, other.take)).toBeUndefined();
  await begun.endOfRun("run");
  expect([turn, other].map(({ signals }) => signals[0]?.aborted)).toEqual([true, false]);
  expect(begun.takeOver(INPUT, never)).toBeUndefined();
  expect(begun.takeOver(another, never)).toBeDefined();
});

test("who has taken it over and is cancelled cancels it", async () => {
  const begun = new BegunTurns();
  const turn = openTurn();
  await begun.begin(INPUT, 1, turn.take);
  const controller = new AbortController();
  const taken = begun.takeOver(INPUT, controller.signal);
  controller.abort(new Error("cancelled"));
  await expect(taken).rejects.toThrow("aborted");
  expect(turn.signals[0]?.reason).toMatchObject({ message: "cancelled" });
});

test("a turn that nobody takes over is given up", async () => {
  vi.useFakeTimers();
  try {
    const begun = new BegunTurns();
    const turn = openTurn();
    const waiting = begun.begin(INPUT, 1_000, turn.take);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await waiting).toBeUndefined();
    expect(turn.signals[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(turn.signals[0]?.aborted).toBe(true);
    expect(begun.takeOver(INPUT, never)).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});
