import { describe, expect, test } from "vitest";
import {
  LOOP_CORRECTION,
  type LoopVerdict,
  NO_LOOP,
  observeCall,
  observeRepeated,
  type Repeated,
} from "../../../src/core/run/loop-detection.js";

/** Calls as words: `a` fails with key a, `+a` succeeds. */
function verdicts(calls: string): readonly LoopVerdict[] {
  let state = NO_LOOP;
  return calls.split(" ").map((call) => {
    const observed = observeCall(state, { key: call.replace("+", ""), ok: call.startsWith("+") });
    state = observed.state;
    return observed.verdict;
  });
}

describe("the same failing call", () => {
  test.each<[string, string, readonly LoopVerdict[]]>([
    [
      "three times earns one correction, a fourth time the user is asked",
      "a a a a",
      ["go-on", "go-on", "correct", "ask-user"],
    ],
    ["goes on asking after that", "a a a a a", ["go-on", "go-on", "correct", "ask-user", "ask-user"]],
    [
      "is forgotten after a success",
      "a a +a a a a",
      ["go-on", "go-on", "go-on", "go-on", "go-on", "correct"],
    ],
    [
      "is forgotten after another failing call",
      "a a b a a a",
      ["go-on", "go-on", "go-on", "go-on", "go-on", "correct"],
    ],
    [
      "may be any call that succeeds as often as it likes",
      "+a +a +a +a +a",
      ["go-on", "go-on", "go-on", "go-on", "go-on"],
    ],
    ["counts a call with an empty key from one as well", " ", ["go-on", "go-on"]],
  ])("%s", (_, calls, expected) => {
    expect(verdicts(calls)).toEqual(expected);
  });

  test("changes no state it is given", () => {
    const state = Object.freeze({ key: "a", failures: 2 });
    expect(observeCall(state, { key: "a", ok: false }).state).toEqual({ key: "a", failures: 3 });
    expect(state.failures).toBe(2);
  });
});

test("the correction tells the model what else it can do", () => {
  expect(LOOP_CORRECTION).toMatch(/three times.*Do not repeat.*ask the user/u);
});

test("a call that works is noticed the fifth time in a row, and the user asked the eighth; another one begins anew", () => {
  let before: Repeated | undefined;
  const verdicts = "a a a a a a a a b".split(" ").map((key) => {
    const { repeated, verdict } = observeRepeated(before, key);
    before = repeated;
    return verdict;
  });
  const quiet = ["go-on", "go-on", "go-on", "go-on"];
  const told = ["correct-repeated", "go-on", "go-on", "ask-of-repeated", "go-on"];
  expect(verdicts).toEqual([...quiet, ...told]);
});
