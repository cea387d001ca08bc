import { describe, expect, test } from "vitest";
import { bundleToolName } from "../../../src/core/bundle/bundle-tools.js";
import { textInliner, inlineVariables } from "../../../src/core/bundle/inline-variables.js";
import { NO_FACTS, conditionFacts } from "../../../src/core/state/transition-guard.js";

test("a tool is known by its name alone", () => {
  expect(bundleToolName("save_output")).toBe("save_output");
  expect(bundleToolName("constructor")).toBeUndefined();
});

describe("variables that expand without bound", () => {
  const nested = Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [`k${n}`, n === 0 ? "x".repeat(100) : `{k${n - 1}}`.repeat(8)]),
  );

  test("are a fault of the file", () => {
    expect(inlineVariables(nested)).toMatchObject({
      ok: false,
      error: { code: "E_SCHEMA_VALIDATION" },
    });
  });

  test("leave a text as it is", () => {
    const inline = textInliner(nested);
    expect([inline("{k11}"), inline("{k11}")]).toEqual(["{k11}", "{k11}"]);
    expect(textInliner({ k0: "v" })("{k0}")).toBe("v");
  });
});

test("conditions see the gates and flags of a graph state, and of none none", () => {
  expect(conditionFacts(undefined)).toBe(NO_FACTS);
  const facts = { gateDecisions: { qaGate: "PASS" as const }, routingFlags: { skip: true } };
  expect(conditionFacts({ ...facts, more: 1 } as typeof facts)).toEqual(facts);
});
