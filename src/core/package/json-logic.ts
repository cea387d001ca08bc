import { type JsonObject, type JsonValue, isList } from "../json.js";
import { valueAt } from "./value-at.js";

/**
 * JSONLogic (jsonlogic.com) for conditions of edges: the operators that read data and compute a value. Written here and
 * not taken from a library because it decides what the guard allows: packages are strangers' and their expressions run
 * in the workflow, so evaluation is bounded, sees own properties only, and has no way out (no `log`, no `method`).
 */

/** How much work one expression may be: values visited. */
const MAX_STEPS = 10_000;
const MAX_DEPTH = 100;
const MAX_TEXT = 10_000;
const MAX_LIST = 10_000;
/** Elements and characters that are built, compared or looked through by one expression. */
const MAX_SIZE = 200_000;
/** Texts are copied and compared many characters at once: what one of them weighs beside an element. */
const CHARS_PER_ELEMENT = 16;

/** So many conditions out of one node get the whole of the work each; more of them share it. */
const FULL_SHARES = 8;
const MIN_STEPS = 50;

class Unevaluable extends Error {}

/** Whether an expression holds, and what it took to find out. */
export interface Verdict {
  readonly holds: boolean;
  /** Values visited. */
  readonly steps: number;
  /** Elements built, compared or looked through; {@link CHARS_PER_ELEMENT} characters count as one. */
  readonly size: number;
}

/**
 * Whether an expression holds over the data, by JSONLogic's truthiness: an empty list is false. An expression that uses
 * an unknown operator, that is too much work, or that fails in any other way does not hold. `share` is how many
 * expressions the work has to be enough for: those out of one node are judged together.
 */
export function holds(expression: JsonValue, data: JsonObject, share = 1): boolean {
  return weigh(expression, data, share).holds;
}

/** As {@link holds}, with what it cost. */
export function weigh(expression: JsonValue, data: JsonObject, share = 1): Verdict {
  const evaluation = new Evaluation(share);
  let result = false;
  try {
    result = isTruthy(evaluation.evaluate(expression, data, 0));
  } catch {
    // Whatever it was: a condition that cannot be evaluated is none that holds.
  }
  return { holds: result, steps: evaluation.steps, size: evaluation.size };
}

/** Whether evaluation knows an operator of this name. */
export function isOperator(name: string): boolean {
  return SPECIAL.has(name) || PLAIN.has(name);
}

type Scope = JsonValue;

class Evaluation {
  steps = 0;
  size = 0;
  private readonly maxSteps: number;
  private readonly maxSize: number;

  constructor(share: number) {
    const parts = Math.max(1, share / FULL_SHARES);
    this.maxSteps = Math.max(MIN_STEPS, Math.floor(MAX_STEPS / parts));
    this.maxSize = Math.max(MIN_STEPS, Math.floor(MAX_SIZE / parts));
  }

  evaluate(expression: JsonValue, scope: Scope, depth: number): JsonValue {
    this.step();
    if (depth > MAX_DEPTH) throw new Unevaluable();
    if (isList(expression)) return expression.map((item) => this.evaluate(item, scope, depth + 1));
    if (expression === null || typeof expression !== "object") return expression;
    const [operator, second] = firstKeys(expression);
    if (operator === undefined || second !== undefined) return expression; // a plain object is a value
    const operand = expression[operator] ?? null;
    const operands = isList(operand) ? operand : [operand];
    const special = SPECIAL.get(operator);
    if (special !== undefined) return special(this, operands, scope, depth + 1);
    const plain = PLAIN.get(operator);
    if (plain === undefined) throw new Unevaluable();
    const values = operands.map((item) => this.evaluate(item, scope, depth + 1));
    return plain(values, scope, this);
  }

  /** Pays for elements before they are built or looked through. */
  pay(elements: number): void {
    if (this.size + elements > this.maxSize) throw new Unevaluable();
    this.size += elements;
  }

  /** Pays for characters before they are read. */
  payText(text: string): void {
    this.pay(text.length / CHARS_PER_ELEMENT);
  }

  /** A value as text, paid for by all that is in it. */
  text(value: JsonValue): string {
    this.payDeep(value, 0);
    if (value === null) return "";
    return typeof value === "object" ? bounded(JSON.stringify(value)) : String(value);
  }

  /** NaN for what is no number. */
  number(value: JsonValue): number {
    if (typeof value === "string") this.payText(value);
    return value !== null && typeof value === "object" ? Number.NaN : Number(value);
  }

  private step(): void {
    this.steps += 1;
    if (this.steps > this.maxSteps) throw new Unevaluable();
  }

  /** The same list may stand in a value many times, and is written out each time. */
  private payDeep(value: JsonValue, depth: number): void {
    if (depth > MAX_DEPTH) throw new Unevaluable();
    this.pay(1);
    if (typeof value === "string") this.payText(value);
    if (value === null || typeof value !== "object") return;
    if (isList(value)) {
      for (const item of value) this.payDeep(item, depth + 1);
      return;
    }
    for (const [key, item] of Object.entries(value)) {
      this.payText(key);
      this.payDeep(item, depth + 1);
    }
  }
}

/** The first two keys of an object, without making a list of all of them. */
function firstKeys(object: JsonObject): readonly [string?, string?] {
  let first: string | undefined;
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue;
    if (first !== undefined) return [first, key];
    first = key;
  }
  return first === undefined ? [] : [first];
}

type Special = (
  evaluation: Evaluation,
  operands: readonly JsonValue[],
  scope: Scope,
  depth: number,
) => JsonValue;
type Plain = (values: readonly JsonValue[], scope: Scope, evaluation: Evaluation) => JsonValue;

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
  ["some", anyHolds],
  ["none", (...iteration) => !anyHolds(...iteration)],
]);

const PLAIN = new Map<string, Plain>([
  ["var", ([path = "", fallback = null], scope, work) => read(scope, path, work) ?? fallback],
  [
    "missing",
    (values, scope, work) => {
      const [first = null] = values;
      return missing(isList(first) ? first : values, scope, work);
    },
  ],
  [
    "missing_some",
    ([needed = 0, names = []], scope, work) => {
      const all = isList(names) ? names : [names];
      const absent = missing(all, scope, work);
      return all.length - absent.length >= work.number(needed) ? [] : absent;
    },
  ],
  ["==", ([a = null, b = null], _scope, work) => looselyEqual(a, b, work)],
  ["!=", ([a = null, b = null], _scope, work) => !looselyEqual(a, b, work)],
  ["===", ([a = null, b = null], _scope, work) => same(a, b, work)],
  ["!==", ([a = null, b = null], _scope, work) => !same(a, b, work)],
  ["!", ([a = null]) => !isTruthy(a)],
  ["!!", ([a = null]) => isTruthy(a)],
  ["<", ([a = null, b = null, c], _scope, work) => ascends(a, b, c, work, (x, y) => x < y)],
  ["<=", ([a = null, b = null, c], _scope, work) => ascends(a, b, c, work, (x, y) => x <= y)],
  [">", ([a = null, b = null], _scope, work) => ascends(b, a, undefined, work, (x, y) => x < y)],
  [">=", ([a = null, b = null], _scope, work) => ascends(b, a, undefined, work, (x, y) => x <= y)],
  ["max", (values, _scope, work) => fold(values, work, -Infinity, (a, b) => Math.max(a, b))],
  ["min", (values, _scope, work) => fold(values, work, Infinity, (a, b) => Math.min(a, b))],
  ["+", (values, _scope, work) => fold(values, work, 0, (a, b) => a + b)],
  ["*", (values, _scope, work) => fold(values, work, 1, (a, b) => a * b)],
  [
    "-",
    ([a = null, b], _scope, work) =>
      finite(b === undefined ? -work.number(a) : work.number(a) - work.number(b)),
  ],
  ["/", ([a = null, b = null], _scope, work) => finite(work.number(a) / work.number(b))],
  ["%", ([a = null, b = null], _scope, work) => finite(work.number(a) % work.number(b))],
  ["merge", (values, _scope, work) => merge(values, work)],
  ["in", ([needle = null, haystack = null], _scope, work) => isIn(needle, haystack, work)],
  ["cat", (values, _scope, work) => concatenate(values, work)],
  [
    "substr",
    ([text = "", start = 0, length], _scope, work) =>
      substring(work.text(text), work.number(start), length === undefined ? undefined : work.number(length)),
  ],
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

function anyHolds(
  evaluation: Evaluation,
  operands: readonly JsonValue[],
  scope: Scope,
  depth: number,
): boolean {
  return listOf(evaluation, operands, scope, depth).some((item) =>
    isTruthy(evaluation.evaluate(operands[1] ?? null, item, depth)),
  );
}

/** A value by its dotted path, own properties only; undefined where there is none. */
function read(scope: Scope, path: JsonValue, work: Evaluation): JsonValue | undefined {
  if (path === "" || path === null) return scope;
  const text = work.text(path);
  work.pay(text.split(".").length);
  return valueAt(scope, text);
}

function missing(names: readonly JsonValue[], scope: Scope, work: Evaluation): readonly JsonValue[] {
  return names.filter((name) => {
    const value = read(scope, name, work);
    return value === undefined || value === null || value === "";
  });
}

function isTruthy(value: JsonValue): boolean {
  return isList(value) ? value.length > 0 : Boolean(value);
}

/** Texts are compared to their ends only where they are of one length. */
function same(a: JsonValue, b: JsonValue, work: Evaluation): boolean {
  if (typeof a === "string" && typeof b === "string" && a.length === b.length) work.payText(a);
  return a === b;
}

/** JavaScript's `==` between JSON scalars; lists and objects equal nothing. */
function looselyEqual(a: JsonValue, b: JsonValue, work: Evaluation): boolean {
  if (a === null || b === null) return a === b;
  if (typeof a === "object" || typeof b === "object") return false;
  return typeof a === typeof b ? same(a, b, work) : work.number(a) === work.number(b);
}

function ascends(
  a: JsonValue,
  b: JsonValue,
  c: JsonValue | undefined,
  work: Evaluation,
  inOrder: (x: string | number, y: string | number) => boolean,
): boolean {
  const pair = (x: JsonValue, y: JsonValue): boolean => {
    if (typeof x !== "string" || typeof y !== "string") return inOrder(work.number(x), work.number(y));
    work.payText(x.length < y.length ? x : y);
    return inOrder(x, y);
  };
  return pair(a, b) && (c === undefined || pair(b, c));
}

function fold(
  values: readonly JsonValue[],
  work: Evaluation,
  start: number,
  combine: (a: number, b: number) => number,
): JsonValue {
  return finite(values.reduce<number>((result, value) => combine(result, work.number(value)), start));
}

/** JSON has no NaN and no infinity: what computes to one is no value. */
function finite(value: number): JsonValue {
  return Number.isFinite(value) ? value : null;
}

function merge(values: readonly JsonValue[], work: Evaluation): readonly JsonValue[] {
  const length = values.reduce<number>((sum, value) => sum + (isList(value) ? value.length : 1), 0);
  if (length > MAX_LIST) throw new Unevaluable();
  work.pay(length);
  return values.flatMap((value) => value);
}

function isIn(needle: JsonValue, haystack: JsonValue, work: Evaluation): boolean {
  if (isList(haystack)) {
    work.pay(haystack.length);
    return haystack.some((item) => same(item, needle, work));
  }
  if (typeof haystack !== "string" || typeof needle !== "string") return false;
  // The worst a search can do is to compare the needle at every place, a few characters at a time.
  work.pay((haystack.length / CHARS_PER_ELEMENT) * Math.ceil(needle.length / CHARS_PER_ELEMENT));
  return haystack.includes(needle);
}

function concatenate(values: readonly JsonValue[], work: Evaluation): string {
  let text = "";
  for (const value of values) text = bounded(text + work.text(value));
  return text;
}

/** A text that is no longer than a condition's may be. */
function bounded(text: string): string {
  if (text.length > MAX_TEXT) throw new Unevaluable();
  return text;
}

function substring(text: string, start: number, length: number | undefined): string {
  const from = text.slice(start);
  return bounded(length === undefined ? from : from.slice(0, length)); // a negative length leaves that much out at the end
}
