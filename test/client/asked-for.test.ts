import { describe, expect, test } from "vitest";
import {
  parseListing,
  requireLimit,
  requireRunName,
  requireText,
  requireTexts,
} from "../../src/client/asked-for.js";
import { fieldsIn, idIn, jsonOf } from "../../src/client/temporal/interlock-error.js";

const REFUSED = expect.objectContaining({ name: "InterlockError", code: "E_SCHEMA_VALIDATION" });

describe("what programs without types ask the client for", () => {
  test.each([
    [{ since: "yesterday" }, "filter.since"],
    [{ since: "2026-13-45" }, "filter.since"],
    [{ phases: "running" }, "filter.phases"],
    [{ phases: ["done"] }, "filter.phases.0"],
    [{ project: 5 }, "filter.project"],
    [{ phase: "failed" }, 'Unrecognized key: "phase"'],
    [null, "filter"],
  ])("a listing narrowed by %j is refused by its field", (filter, named) => {
    expect(() => parseListing(filter, 50)).toThrow(REFUSED);
    expect(() => parseListing(filter, 50)).toThrow(named);
  });

  test.each([-1, 1.5, Number.NaN, "10", null])("a listing of at most %j runs is refused", (limit) => {
    expect(() => parseListing({}, limit)).toThrow(REFUSED);
  });

  test.each([null, undefined, 5, "", {}, { runId: 5, workflowId: "x" }, { runId: "x" }])(
    "%j names no run",
    (id) => {
      expect(() => requireRunName(id)).toThrow(REFUSED);
    },
  );

  test.each(["a run's id", { runId: "x", workflowId: "y" }])("%j names one", (id) => {
    expect(requireRunName(id)).toBeUndefined();
  });

  test("what is no text, no list of texts and no number is refused where one is to be", () => {
    for (const other of [undefined, null, 0.5, "", {}, [5], [""]]) {
      expect(() => requireText("a task queue", other)).toThrow(REFUSED);
      expect(() => requireTexts("workflow ids", other)).toThrow(REFUSED);
      expect(() => requireLimit(other)).toThrow(REFUSED);
    }
    expect(() => requireTexts("workflow ids", "run-x")).toThrow(REFUSED); // its letters would be looked for
    for (const require of [
      () => requireText("a task queue", "x"),
      () => requireTexts("ids", []),
      () => requireLimit(0),
    ])
      expect(require()).toBeUndefined();
  });

  test("what has fields is handed on as it is, and nothing else is taken", () => {
    const given = { text: "x" };
    expect(fieldsIn("an answer", given)).toBe(given);
    for (const other of [null, undefined, "x", 5])
      expect(() => fieldsIn("an answer", other as unknown as object)).toThrow(REFUSED);
  });
});

describe("what is sent", () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  test.each([[{ add: { turns: 1n } }], [circle], [{ input: () => "x" }], [{ input: Symbol("x") }]])(
    "is plain JSON: of %o nothing is sent",
    (value) => {
      expect(() => jsonOf("what starts a run", value)).toThrow(REFUSED);
    },
  );

  test("without what is undefined, as JSON has it", () => {
    expect(jsonOf("what starts a run", { input: undefined, runId: "x" })).toBe('{"runId":"x"}');
  });

  test.each([5, "", true, null, {}, "x".repeat(1001), "\ud800"])(
    "is not told under the id %j: Temporal would make one of its own, and count the same one twice",
    (id) => {
      expect(() => idIn("raiseId", id as string)).toThrow(REFUSED);
    },
  );

  test("is told under an id, or under none", () => {
    expect([idIn("raiseId", "7"), idIn("raiseId", undefined)]).toEqual(["7", undefined]);
  });
});

test("a listing of all runs may be asked for", () => {
  expect(parseListing({}, Infinity).limit).toBe(Infinity);
});

test("times are compared in one form: with an offset, and to the second", () => {
  const since = (text: string) => parseListing({ since: text }, 50).filter.since;
  expect(since("2026-11-22T10:00:00+02:00")).toBe("2026-11-22T08:00:00.000Z");
  expect(since("2026-11-22T08:00:00Z")).toBe("2026-11-22T08:00:00.000Z");
  expect(parseListing({ since: undefined, package: "x" }, 0)).toEqual({ filter: { package: "x" }, limit: 0 });
});
