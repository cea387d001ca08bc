import * as fc from "fast-check";
import type { GraphState, StateSnapshotState } from "../../../src/core/graph-state/schemas.js";

const nonEmpty = fc.string({ minLength: 1, unit: "binary" });
const anyText = fc.string({ unit: "binary" });

const timestamp = fc
  .date({ min: new Date("1970-01-01T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true })
  .map((date) => date.toISOString());

/** Some of the keys, each with a value; in any order. */
function partial<Key extends string, Value>(
  keys: readonly Key[],
  value: fc.Arbitrary<Value>,
): fc.Arbitrary<Partial<Record<Key, Value>>> {
  return fc
    .shuffledSubarray([...keys])
    .chain((chosen) => fc.tuple(...chosen.map((key) => fc.tuple(fc.constant(key), value))))
    .map((entries) => Object.fromEntries(entries) as Partial<Record<Key, Value>>);
}

const letters = fc.string({
  unit: fc.constantFrom("a", "b", "k", "z", "A", "B", "K", "Z"),
  minLength: 1,
  maxLength: 6,
});
const story = fc.tuple(letters, fc.boolean(), fc.nat()).map(([prefix, upper, number]) => ({
  epicPrefix: upper ? prefix.toUpperCase() : prefix,
  storyId: `${prefix}-${number}`,
}));

const artifactPaths = partial(
  ["storyDoc", "elaboration", "proof", "codeReview", "qaVerify", "uiuxReview", "qaGate", "evidence"],
  nonEmpty,
);
const routingFlags = partial(
  ["proceed", "retry", "blocked", "escalate", "skip", "complete"],
  fc.boolean(),
).filter((flags) => !(flags.complete && (flags.retry || flags.blocked)));
const gateDecisions = partial(
  ["codeReview", "qaVerify", "uiuxReview", "qaGate"],
  fc.constantFrom("PASS", "CONCERNS", "FAIL", "WAIVED", "PENDING"),
);
const evidenceRefs = fc.array(
  fc.record(
    {
      type: fc.constantFrom("test", "build", "http", "screenshot", "log"),
      path: nonEmpty,
      timestamp,
      description: anyText,
    },
    { requiredKeys: ["type", "path", "timestamp"] },
  ),
  { maxLength: 3 },
);
const errors = fc.array(
  fc.record(
    {
      nodeId: nonEmpty,
      message: anyText,
      code: anyText,
      timestamp,
      stack: anyText,
      recoverable: fc.boolean(),
    },
    { requiredKeys: ["nodeId", "message", "timestamp", "recoverable"] },
  ),
  { maxLength: 3 },
);

export const snapshotState: fc.Arbitrary<StateSnapshotState> = fc
  .record({
    schemaVersion: fc.constantFrom("1.0.0", "2.0.0"),
    story,
    artifactPaths,
    routingFlags,
    evidenceRefs,
    gateDecisions,
    errors,
  })
  .map(({ story, ...rest }) => ({ ...rest, ...story }));

export const graphState: fc.Arbitrary<GraphState> = fc
  .tuple(snapshotState, fc.array(fc.record({ timestamp, state: snapshotState }), { maxLength: 2 }))
  .map(([state, stateHistory]) => ({ ...state, stateHistory }));

/** A state and one that differs from it in a few fields, as the next node would leave it. */
export const twoStates: fc.Arbitrary<readonly [GraphState, GraphState]> = fc
  .tuple(graphState, graphState, fc.array(fc.boolean(), { minLength: 9, maxLength: 9 }))
  .map(([before, other, taken]) => {
    const changes = Object.entries(other).filter((_, index) => taken[index]);
    return [before, { ...before, ...Object.fromEntries(changes) }] as const;
  });
