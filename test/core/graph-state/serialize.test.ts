import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ZodError } from "zod";
import {
  cloneState,
  createInitialState,
  deserializeState,
  type GraphState,
  safeDeserializeState,
  serializeState,
} from "../../../src/core/index.js";
import { graphState, snapshotState } from "./arbitraries.js";

const initial = createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" });
const deep = 100_000;

const NOT_JSON = ["", " ", "{ invalid json", "undefined", "\ufeff{}", "[".repeat(deep), '{"a":'.repeat(deep)];
const NO_STATE = [
  "null",
  "[]",
  "{}",
  "1",
  '"wrkf-1010"',
  '{"epicPrefix":"","storyId":"wrkf-1010"}',
  '{"epicPrefix":"glry","storyId":"wrkf-1010"}',
  '{"epicPrefix":"wrkf","storyId":"wrkf-1010","artifactPaths":{"invoice":"/a"}}',
  `{"epicPrefix":"wrkf","storyId":"wrkf-1010","errors":${"[".repeat(deep)}${"]".repeat(deep)}}`,
];

function everyObjectIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(everyObjectIn)];
}

/** What the function returns, or the class of what it throws. */
function outcomeOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return Object(error).constructor;
  }
}

describe("serializeState", () => {
  test("gives the state as JSON", () => {
    expect(JSON.parse(serializeState(initial))).toEqual(initial);
  });

  test("loses nothing: what is read back is the state", () => {
    fc.assert(
      fc.property(graphState, (state) => {
        expect(deserializeState(serializeState(state))).toEqual(state);
      }),
    );
  });

  test("is stable after the first round trip", () => {
    fc.assert(
      fc.property(graphState, (state) => {
        const once = serializeState(deserializeState(serializeState(state)));
        expect(serializeState(deserializeState(once))).toBe(once);
      }),
    );
  });
});

describe("deserializeState", () => {
  test("applies defaults", () => {
    expect(deserializeState('{"epicPrefix":"wrkf","storyId":"wrkf-1010"}')).toStrictEqual(initial);
  });

  test("strips unknown fields, however deep they are", () => {
    const text = `{"epicPrefix":"wrkf","storyId":"wrkf-1010","x":${"[".repeat(deep)}${"]".repeat(deep)}}`;
    expect(deserializeState(text)).toStrictEqual(initial);
  });

  test.each(NOT_JSON.map((text) => [text.slice(0, 20), text]))("throws a SyntaxError on %j", (_, text) => {
    expect(() => deserializeState(text)).toThrow(SyntaxError);
  });

  test.each(NO_STATE.map((text) => [text.slice(0, 80), text]))("throws a ZodError on %j", (_, text) => {
    expect(() => deserializeState(text)).toThrow(ZodError);
  });
});

describe("safeDeserializeState", () => {
  test("gives the data of a valid text", () => {
    expect(safeDeserializeState(serializeState(initial))).toEqual({ success: true, data: initial });
  });

  test.each([
    ...NOT_JSON.map((text) => [text.slice(0, 20), text, SyntaxError] as const),
    ...NO_STATE.map((text) => [text.slice(0, 80), text, ZodError] as const),
  ])("gives the error of %j", (_, text, type) => {
    const result = safeDeserializeState(text);
    if (result.success) throw new Error("was accepted");
    expect(result.error).toBeInstanceOf(type);
    expect(result.error).toBeInstanceOf(Error);
  });

  test("gives an error for what is no text, without running any code of it", () => {
    let ran = false;
    const hostile = {
      toString() {
        ran = true;
        throw Object.create(null);
      },
    };
    for (const value of [undefined, null, 1, 1n, Symbol("s"), {}, [], hostile, initial]) {
      expect(safeDeserializeState(value as string)).toMatchObject({
        success: false,
        error: expect.any(SyntaxError),
      });
    }
    expect(ran).toBe(false);
  });

  test("never throws, and agrees with deserializeState", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), graphState.map(serializeState)), (text) => {
        const result = safeDeserializeState(text);
        expect(outcomeOf(() => deserializeState(text))).toEqual(
          result.success ? result.data : result.error.constructor,
        );
      }),
    );
  });
});

describe("cloneState", () => {
  test("gives an equal state that shares nothing with the original", () => {
    fc.assert(
      fc.property(graphState, (state) => {
        const clone = cloneState(state);
        expect(clone).toEqual(state);
        const originals = new Set(everyObjectIn(state));
        expect(everyObjectIn(clone).filter((object) => originals.has(object))).toEqual([]);
      }),
    );
  });

  test("copies a snapshot's state as well", () => {
    fc.assert(
      fc.property(snapshotState, (state) => {
        expect(cloneState(state)).toEqual(state);
      }),
    );
  });

  test("keeps the original when the copy is changed", () => {
    const original: GraphState = { ...initial, artifactPaths: { storyDoc: "/story.md" } };
    const clone = cloneState(original);
    clone.artifactPaths.storyDoc = "/new.md";
    clone.errors.push({ nodeId: "a", message: "m", timestamp: "2026-01-01T00:00:00Z", recoverable: false });
    expect(original).toEqual({ ...initial, artifactPaths: { storyDoc: "/story.md" } });
  });

  test("copies a key named __proto__ as a key", () => {
    const odd = { ...initial, artifactPaths: JSON.parse('{"__proto__":{"storyDoc":"/a"}}') };
    const { artifactPaths } = cloneState(odd);
    expect(Object.keys(artifactPaths)).toEqual(["__proto__"]);
    expect(artifactPaths.storyDoc).toBeUndefined();
  });
});
