import { type JsonObject, type JsonValue, fieldOf, objectOf } from "../core/json.js";
import { callOf, usesOf, variableOf } from "../core/package/condition-uses.js";
import type { ConditionData } from "../core/package/graph.js";
import { weigh } from "../core/package/json-logic.js";
import { valueAt } from "../core/package/value-at.js";

/** Values visited and built while one condition is solved. */
const MAX_WORK = 20_000;
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

  /** One variable is set where that is enough, else two, such as how often something was tried and how often it may be. */
  private *tries(expression: JsonValue, wanted: boolean, data: ConditionData): Iterable<ConditionData> {
    const isWanted = (found: ConditionData): boolean => this.isTrue(expression, found) === wanted;
    if (isWanted(data)) yield data;
    const paths = [...new Set(usesOf(expression).reads.map(({ name }) => name))].filter(isSettable);
    const values = candidates(expression, paths.map((path) => valueAt(data, path) ?? null).filter(isScalar));
    for (const path of paths)
      for (const found of this.settings(path, values, data)) if (isWanted(found)) yield found;
    for (const [index, path] of paths.entries())
      for (const half of this.settings(path, values, data))
        for (const other of paths.slice(index + 1))
          for (const found of this.settings(other, values, half)) if (isWanted(found)) yield found;
  }

  /** The data with each of the values at a path, those that its step prefers first. */
  private *settings(
    path: string,
    values: readonly JsonValue[],
    data: ConditionData,
  ): Iterable<ConditionData> {
    const [, ...keys] = path.split(".");
    const own = keys.length === 1 ? (this.preferred.get(keys[0] ?? "") ?? []) : [];
    for (const value of [...own, ...values]) {
      if (this.isSpent) return;
      yield { ...data, variables: withValue(data.variables, keys, value) };
    }
  }
}

/** The tools refuse a key of the one name, and the other ends the run: that is decided by the graph. */
function isSettable(path: string): boolean {
  const variable = variableOf(path);
  return variable !== undefined && variable !== "workflowStatus" && !path.includes("__proto__");
}

function isScalar(value: JsonValue): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function withValue(object: JsonObject, keys: readonly string[], value: JsonValue): JsonObject {
  const [key = "", ...deeper] = keys;
  if (deeper.length === 0) return { ...object, [key]: value };
  return { ...object, [key]: withValue(objectOf(fieldOf(object, key)), deeper, value) };
}

/** Texts and numbers that an expression compares with, and what it reads of a list's items. */
function namedIn(expression: JsonValue): {
  readonly literals: ReadonlySet<string | number>;
  readonly itemPaths: ReadonlySet<string>;
} {
  const literals = new Set<string | number>();
  const itemPaths = new Set<string>();
  const visit = (value: JsonValue): void => {
    if (literals.size >= MAX_LITERALS) return;
    if (isScalar(value)) literals.add(value);
    if (Array.isArray(value)) value.forEach(visit);
    const use = callOf(value);
    const [first = null] = use?.operands ?? [];
    if (use?.operator === "var") {
      if (
        typeof first === "string" &&
        first !== "" &&
        !/^(?:variables|gateDecisions|routingFlags)\b/.test(first)
      )
        itemPaths.add(first);
      use.operands.slice(1).forEach(visit);
    } else if (use !== undefined && !use.operator.startsWith("missing")) use.operands.forEach(visit);
  };
  visit(expression);
  return { literals, itemPaths };
}

/** What may make a comparison true or false, the likeliest first. */
function candidates(expression: JsonValue, compared: readonly (string | number)[]): readonly JsonValue[] {
  const named = namedIn(expression);
  const literals = [...new Set([...named.literals, ...compared])];
  const numbers = literals.filter((literal) => typeof literal === "number");
  const other = [true, false, ANY_TEXT];
  const values = [
    ...literals,
    ...numbers.flatMap((literal) => [literal + 1, literal - 1]),
    ...(literals.length > numbers.length ? other.toReversed() : other),
  ];
  const items = [...named.itemPaths].map((path) => path.split("."));
  return [
    ...values,
    ...values.map((value) => [value]),
    ...items.flatMap((keys) => values.map((value) => [withValue({}, keys, value)])),
  ];
}
