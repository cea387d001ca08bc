import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ZodError } from "zod";
import {
  createInitialState,
  isValidGraphState,
  safeValidateGraphState,
  validateGraphState,
} from "../../../src/core/index.js";
import { graphState } from "./arbitraries.js";

const story = { epicPrefix: "wrkf", storyId: "wrkf-1010" };
const initial = {
  ...story,
  schemaVersion: "1.0.0",
  artifactPaths: {},
  routingFlags: {},
  evidenceRefs: [],
  gateDecisions: {},
  errors: [],
  stateHistory: [],
};

const INVALID: readonly unknown[] = [
  null,
  undefined,
  {},
  [],
  "",
  { epicPrefix: "wrkf" },
  { storyId: "wrkf-1010" },
  { ...story, epicPrefix: "" },
  { ...story, epicPrefix: "glry" },
  { ...initial, routingFlags: { complete: true, retry: true } },
];

/** What the function returns, or the class of what it throws. */
function outcomeOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return Object(error).constructor;
  }
}

describe("createInitialState", () => {
  test("gives a story that nothing has happened to", () => {
    expect(createInitialState(story)).toStrictEqual(initial);
  });

  test("takes another schema version", () => {
    expect(createInitialState({ ...story, schemaVersion: "2.0.0" }).schemaVersion).toBe("2.0.0");
    expect(createInitialState({ ...story, schemaVersion: undefined }).schemaVersion).toBe("1.0.0");
  });

  test("begins empty whatever else it is handed", () => {
    expect(
      createInitialState({ ...initial, errors: [1], routingFlags: { retry: true } } as typeof story),
    ).toEqual(initial);
  });

  test.each([
    [{ ...story, epicPrefix: "" }, "epicPrefix"],
    [{ ...story, storyId: "invalid" }, "storyId"],
    [{ ...story, storyId: "glry-1010" }, "storyId"],
    [{ ...story, schemaVersion: 1 }, "schemaVersion"],
    [null, ""],
  ])("throws a ZodError on %j", (params, path) => {
    const attempt = () => createInitialState(params as typeof story);
    expect(attempt).toThrow(ZodError);
    expect(attempt).toThrow(
      expect.objectContaining({ issues: [expect.objectContaining({ path: path ? [path] : [] })] }),
    );
  });
});

describe("validateGraphState", () => {
  test("applies defaults and strips what it does not know", () => {
    expect(validateGraphState({ ...story, unknown: true })).toStrictEqual(initial);
  });

  test.each(INVALID)("throws a ZodError on %j", (value) => {
    expect(() => validateGraphState(value)).toThrow(ZodError);
  });
});

describe("safeValidateGraphState", () => {
  test("gives the data of a valid state", () => {
    expect(safeValidateGraphState(story)).toEqual({ success: true, data: initial });
  });

  test.each(INVALID)("gives the error of %j", (value) => {
    const result = safeValidateGraphState(value);
    expect(result.success).toBe(false);
    expect(result.error).toBeInstanceOf(ZodError);
    expect(result.error).toBeInstanceOf(Error);
    expect(result.error?.issues).not.toEqual([]);
  });
});

describe("isValidGraphState", () => {
  test("accepts a whole state and one whose defaults are absent", () => {
    expect(isValidGraphState(initial)).toBe(true);
    expect(isValidGraphState(story)).toBe(true);
  });

  test.each(INVALID)("refuses %j", (value) => {
    expect(isValidGraphState(value)).toBe(false);
  });

  test("promises no more than it has checked", () => {
    const value: unknown = story;
    if (!isValidGraphState(value)) throw new Error("was refused");
    expect(value.storyId.toUpperCase()).toBe("WRKF-1010");
    // @ts-expect-error a default is not applied, so the record may be absent
    expect(() => value.artifactPaths.storyDoc).toThrow(TypeError);
    expect(value.artifactPaths?.storyDoc).toBeUndefined();
  });

  test("agrees with the other two, which leave their argument alone", () => {
    const candidate = fc.oneof(
      graphState,
      fc.anything(),
      fc.anything().map((errors) => ({ ...story, errors })),
    );
    fc.assert(
      fc.property(candidate, (value) => {
        const before = fc.stringify(value);
        const result = safeValidateGraphState(value);
        expect(isValidGraphState(value)).toBe(result.success);
        expect(outcomeOf(() => validateGraphState(value))).toEqual(
          result.success ? result.data : result.error.constructor,
        );
        expect(fc.stringify(value)).toBe(before);
      }),
    );
  });
});
