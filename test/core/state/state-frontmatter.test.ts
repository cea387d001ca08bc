import { describe, expect, test } from "vitest";
import { normalizeFrontmatter, parseFrontmatter } from "../../../src/core/state/state-frontmatter.js";
import { state } from "./graphs.js";

describe("normalisation", () => {
  test("fills in what is missing, after what is there", () => {
    const normalized = normalizeFrontmatter({ workflowType: "x", schemaVersion: 1.1, extra: true });
    expect(Object.entries(normalized)).toEqual([
      ["workflowType", "x"],
      ["schemaVersion", "1.1"],
      ["extra", true],
      ["stepsCompleted", []],
      ["decisionLog", []],
      ["artifacts", []],
      ["variables", {}],
      ["currentNodeId", ""],
    ]);
  });

  test("leaves alone what is there, null included, and does not change its argument", () => {
    const raw = { stepsCompleted: null, variables: null, currentNodeId: 0, schemaVersion: "1.1.2" };
    const before = JSON.stringify(raw);
    expect(normalizeFrontmatter(raw)).toEqual({ ...raw, decisionLog: [], artifacts: [] });
    expect(JSON.stringify(raw)).toBe(before);
  });

  test("fresh lists are not shared between documents", () => {
    const one = normalizeFrontmatter({});
    expect(normalizeFrontmatter({})).toEqual(one);
    (one["variables"] as Record<string, unknown>)["leak"] = 1;
    expect(normalizeFrontmatter({})["variables"]).toEqual({});
  });
});

describe("validation", () => {
  test.each([
    state({
      date: "2026-01-02",
      project_name: "p",
      user_name: "u",
      runId: "r",
      updatedAt: "2026-01-02T03:04:05+02:00",
    }),
    state({ constructor: 1, toString: "x", hasOwnProperty: [] }),
    state({ variables: { constructor: 1, toString: { valueOf: null } } }),
    state({ decisionLog: [{ from: "a", to: "b", label: "c", reason: "d", decidedAt: "any time" }] }),
  ])("accepts %j as it is", (frontmatter) => {
    expect(parseFrontmatter(frontmatter)).toEqual({ ok: true, value: frontmatter });
  });

  test.each([
    ["user_name", { user_name: 5 }],
    ["date", { date: { year: 2026 } }],
    ["runId", { runId: null }],
    ["project_name", { project_name: true }],
  ])("refuses %s that is no text", (path, changes) => {
    expect(parseFrontmatter(state(changes))).toMatchObject({
      ok: false,
      error: { code: "E_SCHEMA_VALIDATION", details: { errors: [{ path }] } },
    });
  });
});
