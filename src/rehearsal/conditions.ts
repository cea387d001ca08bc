import { type JsonObject, type JsonValue, fieldOf, objectOf } from "../core/json.js";
import { callOf, usesOf, variableOf } from "../core/package/condition-uses.js";
import type { ConditionData } from "../core/package/graph.js";
import { weigh } from "../core/package/json-logic.js";

/** Values visited and built while one condition is solved. */
const MAX_WORK = 5_000;
const MAX_LITERALS = 50;
const ANY_TEXT = "rehearsal";

/** What the variables of a step may be, in its own order of preference. */
export type Preferred = ReadonlyMap<string, readonly JsonValue[]>;

/**
 * The variables to set so that a condition holds over the data: none where it holds already, undefined where no values
 * were found. Only variables are set: gates and flags are the story's.
 */
export function variablesFor(
  condition: JsonObject,
  data: ConditionData,
  preferred: Preferred = new Map(),
): JsonObject | undefined {
  const solving = new Solving(preferred);
  for (const found of solving.ways(condition, true, data)) {
    if (solving.isTrue(condition, found)) return changesOf(data.variables, found.variables);
    if (solving.isSpent) break;
  }
  return undefined;
}

function changesOf(before: JsonObject, after: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => before[name] !== value));
}

/** One search: the structure of a condition says what has to hold, and its parts are tried with the values they name. */
class Solving {
  private readonly preferred: Preferred;
  private work = 0;

  constructor(preferred: Preferred) {
    this.preferred = preferred;
  }

  get isSpent(): boolean {
    return this.work > MAX_WORK;
  }

  isTrue(expression: JsonValue, data: ConditionData): boolean {
    const verdict = weigh(expression, data);
    this.work += verdict.steps + verdict.size;
    return verdict.holds;
  }

  /** Data under which an expression may be as wanted, the given one first. */
  *ways(expression: JsonValue, wanted: boolean, data: ConditionData): Iterable<ConditionData> {
    if (this.isSpent) return;
    const { operator = "", operands = [] } = callOf(expression) ?? {};
    const [first = null] = operands;
    if (operator === "!" || operator === "!!") yield* this.ways(first, (operator === "!!") === wanted, data);
    else if (operator === (wanted ? "and" : "or")) yield* this.all(operands, wanted, data);
    else if (operator === "and" || operator === "or")
      for (const operand of operands) yield* this.ways(operand, wanted, data);
    else yield* this.tries(expression, wanted, data);
  }

  /** Data under which each of several expressions is as wanted: a later one goes on from what the ones before it need. */
  private *all(
    expressions: readonly JsonValue[],
    wanted: boolean,
    data: ConditionData,
  ): Iterable<ConditionData> {
    const [first, ...rest] = expressions;
    if (first === undefined) yield data;
    else for (const found of this.ways(first, wanted, data)) yield* this.all(rest, wanted, found);
  }

  private *tries(expression: JsonValue, wanted: boolean, data: ConditionData): Iterable<ConditionData> {
    if (this.isTrue(expression, data) === wanted) yield data;
    const literals = literalsIn(expression);
    for (const { name: path } of usesOf(expression).reads) {
      const variable = variableOf(path);
      // The tools refuse a key of the one name, and the other ends the run: that is decided by the graph.
      if (variable === undefined || path.includes("__proto__") || variable === "workflowStatus") continue;
      const [, ...keys] = path.split(".");
      const own = keys.length === 1 ? (this.preferred.get(variable) ?? []) : [];
      for (const value of [...own, ...candidates(literals)]) {
        if (this.isSpent) return;
        const changed = { ...data, variables: withValue(data.variables, keys, value) };
        if (this.isTrue(expression, changed) === wanted) yield changed;
      }
    }
  }
}

function withValue(object: JsonObject, keys: readonly string[], value: JsonValue): JsonObject {
  const [key = "", ...deeper] = keys;
  if (deeper.length === 0) return { ...object, [key]: value };
  return { ...object, [key]: withValue(objectOf(fieldOf(object, key)), deeper, value) };
}

/** Texts and numbers that an expression compares with: what is read by name is none of them. */
function literalsIn(expression: JsonValue): readonly (string | number)[] {
  const literals = new Set<string | number>();
  const visit = (value: JsonValue): void => {
    if (literals.size >= MAX_LITERALS) return;
    if (typeof value === "string" || typeof value === "number") literals.add(value);
    if (Array.isArray(value)) value.forEach(visit);
    const use = callOf(value);
    if (use?.operator === "var") use.operands.slice(1).forEach(visit);
    else if (use !== undefined && !use.operator.startsWith("missing")) use.operands.forEach(visit);
  };
  visit(expression);
  return [...literals];
}

/** What may make a comparison true or false, the likeliest first. */
function candidates(literals: readonly (string | number)[]): readonly JsonValue[] {
  const numbers = literals.filter((literal) => typeof literal === "number");
  const other = [true, false, ANY_TEXT];
  return [
    ...literals,
    ...numbers.flatMap((literal) => [literal + 1, literal - 1]),
    ...(literals.length > numbers.length ? other.toReversed() : other),
    ...literals.map((literal) => [literal]),
  ];
}
