import type { JsonObject, JsonValue } from "../json.js";

/**
 * JSONLogic (jsonlogic.com) for conditions of edges: the operators that read data and compute a value. Written here and
 * not taken from a library because it decides what the guard allows: packages are strangers' and their expressions run
 * in the workflow, so evaluation is bounded, sees own properties only, and has no way out (no `log`, no `method`).
 */

/** How much work one expression may be: values visited. */
const MAX_STEPS = 10_000;
const MAX_DEPTH = 100;
const MAX_TEXT = 10_000;

class Unevaluable extends Error {}

/**
 * Whether an expression holds over the data, by JSONLogic's truthiness: an empty list is false. An expression that uses
 * an unknown operator, or is too much work, does not hold.
 */
export function holds(expression: JsonValue, data: JsonObject): boolean {
  try {
    return isTruthy(new Evaluation().evaluate(expression, data, 0));
  } catch (error) {
    if (error instanceof Unevaluable) return false;
    /* v8 ignore next -- a bug */
    throw error;
  }
}

type Scope = JsonValue;

class Evaluation {
  private steps = 0;

  evaluate(expression: JsonValue, scope: Scope, depth: number): JsonValue {
    this.steps += 1;
    if (this.steps > MAX_STEPS || depth > MAX_DEPTH) throw new Unevaluable();
    if (isList(expression)) return expression.map((item) => this.evaluate(item, scope, depth + 1));
    if (expression === null || typeof expression !== "object") return expression;
    const [entry, second] = Object.entries(expression);
    if (entry === undefined || second !== undefined) return expression; // a plain object is a value
    const [operator, operand] = entry;
    const operands = isList(operand) ? operand : [operand];
    const special = SPECIAL.get(operator);
    if (special !== undefined) return special(this, operands, scope, depth + 1);
    const plain = PLAIN.get(operator);
    if (plain === undefined) throw new Unevaluable();
    const values = operands.map((item) => this.evaluate(item, scope, depth + 1));
    this.steps += values.length;
    return plain(values, scope);
  }
}

type Special = (
  evaluation: Evaluation,
  operands: readonly JsonValue[],
  scope: Scope,
  depth: number,
) => JsonValue;
type Plain = (values: readonly JsonValue[], scope: Scope) => JsonValue;

/** Operators that do not evaluate all their operands, or evaluate them in another scope. */
const SPECIAL = new Map<string, Special>([
  ["if", evaluateIf],
  ["?:", evaluateIf],
  ["and", (evaluation, operands, scope, depth) => firstOf(evaluation, operands, scope, depth, false)],
  ["or", (evaluation, operands, scope, depth) => firstOf(evaluation, operands, scope, depth, true)],
  [
    "filter",
    (evaluation, operands, scope, depth) => {
      const test = operands[1] ?? null;
      return listOf(evaluation, operands, scope, depth).filter((item) =>
        isTruthy(evaluation.evaluate(test, item, depth)),
      );
    },
  ],
  [
    "map",
    (evaluation, operands, scope, depth) =>
      listOf(evaluation, operands, scope, depth).map((item) =>
        evaluation.evaluate(operands[1] ?? null, item, depth),
      ),
  ],
  [
    "reduce",
    (evaluation, operands, scope, depth) => {
      const start = operands[2] === undefined ? null : evaluation.evaluate(operands[2], scope, depth);
      return listOf(evaluation, operands, scope, depth).reduce<JsonValue>(
        (accumulator, current) => evaluation.evaluate(operands[1] ?? null, { accumulator, current }, depth),
        start,
      );
    },
  ],
  [
    "all",
    (evaluation, operands, scope, depth) => {
      const items = listOf(evaluation, operands, scope, depth);
      return (
        items.length > 0 &&
        items.every((item) => isTruthy(evaluation.evaluate(operands[1] ?? null, item, depth)))
      );
    },
  ],
  [
    "some",
    (evaluation, operands, scope, depth) =>
      listOf(evaluation, operands, scope, depth).some((item) =>
        isTruthy(evaluation.evaluate(operands[1] ?? null, item, depth)),
      ),
  ],
  [
    "none",
    (evaluation, operands, scope, depth) =>
      !listOf(evaluation, operands, scope, depth).some((item) =>
        isTruthy(evaluation.evaluate(operands[1] ?? null, item, depth)),
      ),
  ],
]);

const PLAIN = new Map<string, Plain>([
  ["var", ([path = "", fallback = null], scope) => read(scope, path) ?? fallback],
  [
    "missing",
    (values, scope) =>
      missing(isList(values[0] ?? null) ? (values[0] as readonly JsonValue[]) : values, scope),
  ],
  [
    "missing_some",
    ([needed = 0, names = []], scope) => {
      const all = isList(names) ? names : [names];
      const absent = missing(all, scope);
      return all.length - absent.length >= toNumber(needed) ? [] : absent;
    },
  ],
  ["==", ([a = null, b = null]) => looselyEqual(a, b)],
  ["!=", ([a = null, b = null]) => !looselyEqual(a, b)],
  ["===", ([a = null, b = null]) => a === b],
  ["!==", ([a = null, b = null]) => a !== b],
  ["!", ([a = null]) => !isTruthy(a)],
  ["!!", ([a = null]) => isTruthy(a)],
  ["<", ([a = null, b = null, c]) => less(a, b) && (c === undefined || less(b, c))],
  ["<=", ([a = null, b = null, c]) => lessOrEqual(a, b) && (c === undefined || lessOrEqual(b, c))],
  [">", ([a = null, b = null]) => less(b, a)],
  [">=", ([a = null, b = null]) => lessOrEqual(b, a)],
  ["max", (values) => finite(Math.max(...values.map(toNumber)))],
  ["min", (values) => finite(Math.min(...values.map(toNumber)))],
  ["+", (values) => finite(values.reduce<number>((sum, value) => sum + toNumber(value), 0))],
  ["*", (values) => finite(values.reduce<number>((product, value) => product * toNumber(value), 1))],
  ["-", ([a = null, b]) => finite(b === undefined ? -toNumber(a) : toNumber(a) - toNumber(b))],
  ["/", ([a = null, b = null]) => finite(toNumber(a) / toNumber(b))],
  ["%", ([a = null, b = null]) => finite(toNumber(a) % toNumber(b))],
  ["merge", (values) => values.flatMap((value) => value)],
  [
    "in",
    ([needle = null, haystack = null]) =>
      isList(haystack)
        ? haystack.includes(needle)
        : typeof haystack === "string" && typeof needle === "string" && haystack.includes(needle),
  ],
  ["cat", (values) => bounded(values.map(toText).join(""))],
  ["substr", ([text = "", start = 0, length]) => substring(toText(text), toNumber(start), length)],
]);

function evaluateIf(
  evaluation: Evaluation,
  operands: readonly JsonValue[],
  scope: Scope,
  depth: number,
): JsonValue {
  for (let index = 0; index + 1 < operands.length; index += 2) {
    if (isTruthy(evaluation.evaluate(operands[index] ?? null, scope, depth))) {
      return evaluation.evaluate(operands[index + 1] ?? null, scope, depth);
    }
  }
  return operands.length % 2 === 1 ? evaluation.evaluate(operands.at(-1) ?? null, scope, depth) : null;
}

/** `or`: the first truthy value, else the last; `and`: the first falsy one, else the last. */
function firstOf(
  evaluation: Evaluation,
  operands: readonly JsonValue[],
  scope: Scope,
  depth: number,
  wanted: boolean,
): JsonValue {
  let value: JsonValue = null;
  for (const operand of operands) {
    value = evaluation.evaluate(operand, scope, depth);
    if (isTruthy(value) === wanted) return value;
  }
  return value;
}

function listOf(
  evaluation: Evaluation,
  operands: readonly JsonValue[],
  scope: Scope,
  depth: number,
): readonly JsonValue[] {
  const value = evaluation.evaluate(operands[0] ?? null, scope, depth);
  return isList(value) ? value : [];
}

/** A value by its dotted path, own properties only; undefined where there is none. */
function read(scope: Scope, path: JsonValue): JsonValue | undefined {
  if (path === "" || path === null) return scope;
  let value: JsonValue | undefined = scope;
  for (const key of toText(path).split(".")) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key]; // an index of a list reads like a key
  }
  return value;
}

function missing(names: readonly JsonValue[], scope: Scope): readonly JsonValue[] {
  return names.filter((name) => {
    const value = read(scope, name);
    return value === undefined || value === null || value === "";
  });
}

function isTruthy(value: JsonValue): boolean {
  return isList(value) ? value.length > 0 : Boolean(value);
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** JavaScript's `==` between JSON scalars; lists and objects equal nothing. */
function looselyEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === null || b === null) return a === b;
  if (typeof a === "object" || typeof b === "object") return false;
  return typeof a === typeof b ? a === b : toNumber(a) === toNumber(b);
}

function less(a: JsonValue, b: JsonValue): boolean {
  return typeof a === "string" && typeof b === "string" ? a < b : toNumber(a) < toNumber(b);
}

function lessOrEqual(a: JsonValue, b: JsonValue): boolean {
  return typeof a === "string" && typeof b === "string" ? a <= b : toNumber(a) <= toNumber(b);
}

function toNumber(value: JsonValue): number {
  return value !== null && typeof value === "object" ? Number.NaN : Number(value);
}

/** JSON has no NaN and no infinity: what computes to one is no value. */
function finite(value: number): JsonValue {
  return Number.isFinite(value) ? value : null;
}

function toText(value: JsonValue): string {
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
}

function bounded(text: string): string {
  if (text.length > MAX_TEXT) throw new Unevaluable();
  return text;
}

function substring(text: string, start: number, length: JsonValue | undefined): string {
  const from = text.slice(start);
  if (length === undefined) return from;
  return from.slice(0, toNumber(length)); // a negative length leaves that much out at the end
}
