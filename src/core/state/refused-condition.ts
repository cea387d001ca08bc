import type { JsonObject, JsonValue } from "../json.js";
import { usesOf } from "../package/condition-uses.js";
import type { ConditionData } from "../package/graph.js";
import { valueAt } from "../package/value-at.js";
import { redactAbsolutePaths } from "../prompt/redact.js";
import { excerpt, listSome } from "../text.js";

const MAX_NAMED = 5;
const MAX_VALUE_CHARS = 100;

/** Why a condition does not hold, as far as that can be said: what it reads, with the values, and what it cannot use. */
export function describeUnmet(condition: JsonObject, data: ConditionData): string {
  const { reads, unknownOperators } = usesOf(condition);
  const paths = [...new Set(reads.map(({ name }) => name))];
  const values = paths.slice(0, MAX_NAMED).map((path) => `${excerpt(path)} is ${shown(valueAt(data, path))}`);
  if (paths.length > MAX_NAMED) values.push(`and ${paths.length - MAX_NAMED} more`);
  const unknown = [...new Set(unknownOperators.map(({ name }) => JSON.stringify(excerpt(name))))];
  const parts = [
    ...(values.length === 0 ? [] : [values.join(", ")]),
    ...(unknown.length === 0 ? [] : [`it uses ${listSome(unknown, MAX_NAMED)}, which is no operator`]),
  ];
  return parts.length === 0 ? "." : `: ${parts.join("; ")}.`;
}

function shown(value: JsonValue | undefined): string {
  if (value === undefined) return "not set";
  const text = JSON.stringify(value).slice(0, 10 * MAX_VALUE_CHARS);
  return excerpt(redactAbsolutePaths(text), MAX_VALUE_CHARS);
}
