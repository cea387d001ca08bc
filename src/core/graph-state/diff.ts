import { isRecord } from "../json.js";
import {
  type GraphState,
  GraphStateSchema,
  type StateDiff,
  type StateDiffItem,
  type StateSnapshotState,
} from "./schemas.js";

type Fields = Readonly<Record<string, unknown>>;

const FIELDS = Object.keys(GraphStateSchema.shape);

/**
 * What it takes to get from one state to the other: records key by key, arrays as wholes, in the order of the
 * schema. Fields that the schema does not know are left out, as validation would strip them, and so is
 * `stateHistory` unless both sides carry one: a snapshot has none, and that is no difference between two nodes.
 * `undefined` counts as absent, as it does in JSON. The values are those of the states, not copies.
 */
export function diffGraphState(
  before: GraphState | StateSnapshotState,
  after: GraphState | StateSnapshotState,
): StateDiff {
  const fields =
    hasHistory(before) && hasHistory(after) ? FIELDS : FIELDS.filter((field) => field !== "stateHistory");
  const oldLeaves = leavesOf(before, fields);
  const newLeaves = leavesOf(after, fields);
  const changed: StateDiffItem[] = [];
  const added: StateDiffItem[] = [];
  const removed: StateDiffItem[] = [];
  for (const [path, oldValue] of oldLeaves) {
    if (!newLeaves.has(path)) {
      removed.push({ path, oldValue });
      continue;
    }
    const newValue = newLeaves.get(path);
    if (!isSameValue(oldValue, newValue)) changed.push({ path, oldValue, newValue });
  }
  for (const [path, newValue] of newLeaves) {
    if (!oldLeaves.has(path)) added.push({ path, newValue });
  }
  const totalDiffs = changed.length + added.length + removed.length;
  return { hasChanges: totalDiffs > 0, totalDiffs, changed, added, removed };
}

function hasHistory(state: GraphState | StateSnapshotState): boolean {
  return "stateHistory" in state && state.stateHistory !== undefined;
}

/** Each value that is compared as a whole, by its path. */
function leavesOf(state: Fields, fields: readonly string[]): ReadonlyMap<string, unknown> {
  const leaves = new Map<string, unknown>();
  for (const field of fields) {
    const value = state[field];
    if (!isRecord(value)) {
      if (value !== undefined) leaves.set(field, value);
      continue;
    }
    for (const [key, item] of definedEntries(value)) leaves.set(`${field}.${key}`, item);
  }
  return leaves;
}

function isSameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSameValue(item, b[index]));
  }
  if (isRecord(a) && isRecord(b)) {
    const entries = definedEntries(a);
    return (
      entries.length === definedEntries(b).length &&
      entries.every(([key, item]) => Object.hasOwn(b, key) && isSameValue(item, b[key]))
    );
  }
  return a === b;
}

function definedEntries(record: Fields): [string, unknown][] {
  return Object.entries(record).filter(([, value]) => value !== undefined);
}
