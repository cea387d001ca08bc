import type { JsonObject, JsonValue } from "../json.js";
import type { FrontmatterUpdate } from "../tools/tool-specs.js";
import type { Frontmatter } from "./state-frontmatter.js";

/**
 * Applies an `updateFrontmatter` patch (contracts §7) to a state. Pure: returns the next frontmatter, which
 * the guard has yet to judge. Lists gain what they do not hold yet, in order; the decision log gains every
 * entry; variables are merged one level deep; `updatedAt` is `now` unless the update sets it.
 */
export function updateFrontmatter(state: Frontmatter, update: FrontmatterUpdate, now: string): JsonObject {
  const next: Record<string, JsonValue> = { ...state };
  if (update.stepsCompleted)
    next["stepsCompleted"] = appendNew(state.stepsCompleted, update.stepsCompleted.append);
  if (update.artifacts) next["artifacts"] = appendNew(state.artifacts, update.artifacts.append);
  if (update.decisionLog) {
    const added = update.decisionLog.append.map((decision) => withoutUndefined(decision));
    next["decisionLog"] = [...state.decisionLog, ...added];
  }
  if (update.variables) next["variables"] = { ...state.variables, ...(update.variables.set as JsonObject) };
  if (update.currentNodeId) next["currentNodeId"] = update.currentNodeId.set;
  next["updatedAt"] = update.updatedAt?.set ?? now;
  return next;
}

/** The state with one artifact more; the same state when it is listed already (contracts §10). */
export function recordArtifact(state: Frontmatter, artifact: string, now: string): JsonObject {
  if (state.artifacts.includes(artifact)) return state;
  return { ...state, artifacts: [...state.artifacts, artifact], updatedAt: now };
}

function appendNew(list: readonly string[], added: readonly string[]): readonly string[] {
  const known = new Set(list);
  return [...list, ...new Set(added.filter((item) => !known.has(item)))];
}

function withoutUndefined(value: Readonly<Record<string, string | undefined>>): JsonObject {
  const entries = Object.entries(value).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}
