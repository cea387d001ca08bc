import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  cloneState,
  createInitialState,
  deserializeState,
  diffGraphState,
  type GraphState,
  serializeState,
  type StateDiff,
  StateDiffSchema,
  type StateSnapshotState,
} from "../../../src/core/index.js";
import { graphState, snapshotState, twoStates } from "./arbitraries.js";

const at = "2026-01-01T00:00:00Z";
const initial = createInitialState({ epicPrefix: "wrkf", storyId: "wrkf-1010" });
const ref = { type: "test", path: "/test.log", timestamp: at } as const;
const { stateHistory: _, ...snapshot } = initial;
const nothing: StateDiff = { hasChanges: false, totalDiffs: 0, changed: [], added: [], removed: [] };

interface Case {
  readonly name: string;
  readonly before?: Partial<GraphState>;
  readonly after?: Partial<GraphState>;
  readonly diff: Partial<StateDiff>;
}

const CASES: readonly Case[] = [
  {
    name: "a scalar that changed",
    after: { schemaVersion: "2.0.0" },
    diff: { changed: [{ path: "schemaVersion", oldValue: "1.0.0", newValue: "2.0.0" }] },
  },
  {
    name: "a record's key that appeared",
    after: { artifactPaths: { storyDoc: "/story.md" } },
    diff: { added: [{ path: "artifactPaths.storyDoc", newValue: "/story.md" }] },
  },
  {
    name: "a record's key that went away",
    before: { artifactPaths: { storyDoc: "/story.md" } },
    diff: { removed: [{ path: "artifactPaths.storyDoc", oldValue: "/story.md" }] },
  },
  {
    name: "a record's key whose value changed, and no other",
    before: { gateDecisions: { qaGate: "FAIL", codeReview: "PASS" } },
    after: { gateDecisions: { codeReview: "PASS", qaGate: "PASS" } },
    diff: { changed: [{ path: "gateDecisions.qaGate", oldValue: "FAIL", newValue: "PASS" }] },
  },
  {
    name: "false as a value, not as an absent key",
    before: { routingFlags: { proceed: true, skip: false } },
    after: { routingFlags: { proceed: false, retry: false } },
    diff: {
      changed: [{ path: "routingFlags.proceed", oldValue: true, newValue: false }],
      added: [{ path: "routingFlags.retry", newValue: false }],
      removed: [{ path: "routingFlags.skip", oldValue: false }],
    },
  },
  {
    name: "an array as a whole, an empty one too",
    after: { evidenceRefs: [ref] },
    diff: { changed: [{ path: "evidenceRefs", oldValue: [], newValue: [ref] }] },
  },
  {
    name: "an array whose order changed",
    before: { evidenceRefs: [ref, { ...ref, path: "/b" }] },
    after: { evidenceRefs: [{ ...ref, path: "/b" }, ref] },
    diff: {
      changed: [
        {
          path: "evidenceRefs",
          oldValue: [ref, { ...ref, path: "/b" }],
          newValue: [{ ...ref, path: "/b" }, ref],
        },
      ],
    },
  },
  {
    name: "an item that gained a field",
    before: { evidenceRefs: [ref] },
    after: { evidenceRefs: [{ ...ref, description: "d" }] },
    diff: {
      changed: [{ path: "evidenceRefs", oldValue: [ref], newValue: [{ ...ref, description: "d" }] }],
    },
  },
  {
    name: "an item with another field in place of one",
    before: { errors: [{ nodeId: "a", message: "m", timestamp: at, recoverable: false, code: "E" }] },
    after: { errors: [{ nodeId: "a", message: "m", timestamp: at, recoverable: false, stack: "E" }] },
    diff: {
      changed: [
        {
          path: "errors",
          oldValue: [{ nodeId: "a", message: "m", timestamp: at, recoverable: false, code: "E" }],
          newValue: [{ nodeId: "a", message: "m", timestamp: at, recoverable: false, stack: "E" }],
        },
      ],
    },
  },
  {
    name: "no difference in the order of an item's keys",
    before: { evidenceRefs: [ref] },
    after: { evidenceRefs: [{ timestamp: at, path: "/test.log", type: "test" }] },
    diff: {},
  },
  {
    name: "no difference between undefined and absent",
    before: {
      evidenceRefs: [{ ...ref, description: undefined }],
      routingFlags: { proceed: undefined } as never,
    },
    after: { evidenceRefs: [ref], routingFlags: {} },
    diff: {},
  },
  {
    name: "a field that an unvalidated state lacks",
    before: { schemaVersion: undefined as never },
    after: { gateDecisions: undefined as never },
    diff: { added: [{ path: "schemaVersion", newValue: "1.0.0" }] },
  },
  {
    name: "the history as a whole, where both carry one",
    after: { stateHistory: [{ timestamp: at, state: snapshot }] },
    diff: {
      changed: [{ path: "stateHistory", oldValue: [], newValue: [{ timestamp: at, state: snapshot }] }],
    },
  },
  {
    name: "no field that the schema does not know",
    after: { extra: 1 } as Partial<GraphState>,
    diff: {},
  },
];

describe("diffGraphState", () => {
  test.each(CASES)("shows $name", ({ before, after, diff }) => {
    const result = diffGraphState({ ...initial, ...before }, { ...initial, ...after });
    const items = [...(diff.changed ?? []), ...(diff.added ?? []), ...(diff.removed ?? [])];
    expect(result).toStrictEqual({
      ...nothing,
      ...diff,
      hasChanges: items.length > 0,
      totalDiffs: items.length,
    });
  });

  test("shows changes in the order of the schema's fields", () => {
    const after: GraphState = {
      errors: [],
      routingFlags: {},
      artifactPaths: {},
      gateDecisions: {},
      evidenceRefs: [ref],
      storyId: "wrkf-2",
      epicPrefix: "WRKF",
      schemaVersion: "2.0.0",
      stateHistory: [],
    };
    const { changed } = diffGraphState(initial, after);
    expect(changed.map((item) => item.path)).toEqual([
      "schemaVersion",
      "epicPrefix",
      "storyId",
      "evidenceRefs",
    ]);
  });

  test("finds no difference between a state and its own snapshot", () => {
    fc.assert(
      fc.property(graphState, (state) => {
        const { stateHistory: _, ...snapshot } = state;
        expect(diffGraphState(state, snapshot)).toEqual(nothing);
        expect(diffGraphState(snapshot, state)).toEqual(nothing);
        expect(diffGraphState(snapshot, { ...state, stateHistory: undefined as never })).toEqual(nothing);
      }),
    );
  });

  test("finds nothing between a state and a copy of it", () => {
    fc.assert(
      fc.property(graphState, (state) => {
        expect(diffGraphState(state, state)).toEqual(nothing);
        expect(diffGraphState(state, cloneState(state))).toEqual(nothing);
        expect(diffGraphState(state, deserializeState(serializeState(state)))).toEqual(nothing);
      }),
    );
  });

  test("finds something exactly where two states differ", () => {
    fc.assert(
      fc.property(twoStates, ([before, after]) => {
        expect(diffGraphState(before, after).hasChanges).toBe(!isEqual(before, after));
      }),
    );
  });

  test("is enough to get from the first state to the second", () => {
    fc.assert(
      fc.property(fc.oneof(twoStates, fc.tuple(snapshotState, snapshotState)), ([before, after]) => {
        expect(apply(diffGraphState(before, after), before)).toEqual(after);
      }),
    );
  });

  test("backwards swaps old and new, added and removed", () => {
    fc.assert(
      fc.property(twoStates, ([before, after]) => {
        const forth = diffGraphState(before, after);
        const back = diffGraphState(after, before);
        const swapped = [...forth.changed].map(({ path, oldValue, newValue }) => ({
          path,
          oldValue: newValue,
          newValue: oldValue,
        }));
        expect(sorted(back.changed)).toEqual(sorted(swapped));
        expect(sorted(back.added)).toEqual(
          sorted(forth.removed.map((it) => ({ path: it.path, newValue: it.oldValue }))),
        );
        expect(sorted(back.removed)).toEqual(
          sorted(forth.added.map((it) => ({ path: it.path, oldValue: it.newValue }))),
        );
      }),
    );
  });

  test("names each path once, counts them all, and fits its schema", () => {
    fc.assert(
      fc.property(twoStates, ([before, after]) => {
        const diff = diffGraphState(before, after);
        const items = [...diff.changed, ...diff.added, ...diff.removed];
        expect(diff.totalDiffs).toBe(items.length);
        expect(new Set(items.map((item) => item.path)).size).toBe(items.length);
        expect(StateDiffSchema.parse(diff)).toEqual(diff);
      }),
    );
  });

  test("changes neither state", () => {
    fc.assert(
      fc.property(twoStates, ([before, after]) => {
        const texts = [serializeState(before), serializeState(after)];
        diffGraphState(before, after);
        expect([serializeState(before), serializeState(after)]).toEqual(texts);
      }),
    );
  });
});

function isEqual(a: unknown, b: unknown): boolean {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
}

function sorted<Item extends { readonly path: string }>(items: readonly Item[]): Item[] {
  return [...items].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Writes the differences into a copy of the state they start from. */
function apply(diff: StateDiff, before: StateSnapshotState): unknown {
  const result = cloneState(before) as unknown as Record<string, Record<string, unknown>>;
  const holder = (path: string) => {
    const [field = "", key] = path.split(".");
    return key === undefined ? { target: result, name: field } : { target: result[field], name: key };
  };
  for (const { path } of diff.removed) {
    const { target, name } = holder(path);
    delete target?.[name];
  }
  for (const { path, newValue } of [...diff.changed, ...diff.added]) {
    const { target, name } = holder(path);
    Object.assign(target ?? {}, { [name]: newValue });
  }
  return result;
}
