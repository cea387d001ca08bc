import { type JsonValue, isList } from "../json.js";
import { isOperator } from "./json-logic.js";

/** Something that an expression names, and where: keys and indexes from the expression's root. */
export interface NamedIn {
  readonly name: string;
  readonly at: readonly (string | number)[];
}

/** What a condition names, found without evaluating it. */
export interface ConditionUses {
  /** Dotted paths into what conditions see, such as `variables.approved`. */
  readonly reads: readonly NamedIn[];
  /** Operators that evaluation does not know: with one of them in it, a condition cannot be relied on to hold. */
  readonly unknownOperators: readonly NamedIn[];
  /** Texts that stand beside what is read, each with the path of that. */
  readonly compared: readonly (NamedIn & { readonly path: string })[];
  /** Texts among operands that are written as paths are: nothing is read there. */
  readonly barePaths: readonly NamedIn[];
}

/** Operators whose second operand is evaluated over the items of a list: what it reads is none of the run's. */
const OVER_ITEMS: ReadonlySet<string> = new Set(["filter", "map", "reduce", "all", "some", "none"]);
const READING: ReadonlySet<string> = new Set(["var", "missing", "missing_some"]);
const COMPARING: ReadonlySet<string> = new Set(["==", "===", "!=", "!==", "in"]);
const A_PATH = /^(?:variables|gateDecisions|routingFlags)\.\S/;

/** The paths and unknown operators of an expression that is nested at most 100 deep. */
export function usesOf(expression: JsonValue): ConditionUses {
  const reads: NamedIn[] = [];
  const unknownOperators: NamedIn[] = [];
  const compared: (NamedIn & { readonly path: string })[] = [];
  const barePaths: NamedIn[] = [];
  const visit = (value: JsonValue, at: readonly (string | number)[], ofRun: boolean): void => {
    if (isList(value)) {
      for (const [index, item] of value.entries()) visit(item, [...at, index], ofRun);
      return;
    }
    const use = callOf(value);
    if (use === undefined) return;
    const { operator, operands, isListed } = use;
    const below = [...at, operator];
    if (!isOperator(operator)) unknownOperators.push({ name: operator, at: below });
    if (READING.has(operator) && ofRun)
      reads.push(...namesIn(operator, operands).map((name) => ({ name, at: below })));
    if (!READING.has(operator))
      barePaths.push(
        ...textsIn(operands)
          .filter((text) => A_PATH.test(text))
          .map((name) => ({ name, at: below })),
      );
    if (COMPARING.has(operator) && ofRun) {
      const [path] = operands.flatMap(pathIn);
      const texts = operands.flatMap((operand) => textsIn(isList(operand) ? operand : [operand]));
      if (path !== undefined) compared.push(...texts.map((name) => ({ name, path, at: below })));
    }
    for (const [index, operand] of operands.entries()) {
      const place = isListed ? [...below, index] : below;
      visit(operand, place, ofRun && !(index === 1 && OVER_ITEMS.has(operator)));
    }
  };
  visit(expression, [], true);
  return { reads, unknownOperators, compared, barePaths };
}

function textsIn(values: readonly JsonValue[]): readonly string[] {
  return values.filter((value) => typeof value === "string");
}

/** The path that an operand reads, where it is no more than that. */
function pathIn(operand: JsonValue): readonly string[] {
  const use = callOf(operand);
  return use?.operator === "var" ? namesIn("var", use.operands) : [];
}

/** Whether a condition reads a path that is wanted. */
export function readsPath(condition: JsonValue, isWanted: (path: string) => boolean): boolean {
  return usesOf(condition).reads.some(({ name }) => isWanted(name));
}

/** A call of an operator. */
interface Call {
  readonly operator: string;
  readonly operands: readonly JsonValue[];
  /** False for an operator with its one operand bare: `{ "var": "variables.a" }`. */
  readonly isListed: boolean;
}

/** An object of one key is a call of that operator; every other is a plain value, as in evaluation. */
export function callOf(value: JsonValue): Call | undefined {
  if (value === null || typeof value !== "object" || isList(value)) return undefined;
  const [operator, second] = Object.keys(value);
  if (operator === undefined || second !== undefined) return undefined;
  const operand = value[operator] ?? null;
  return isList(operand)
    ? { operator, operands: operand, isListed: true }
    : { operator, operands: [operand], isListed: false };
}

/** What one of the reading operators is told to read, as far as it is written out. */
function namesIn(operator: string, operands: readonly JsonValue[]): readonly string[] {
  const [first = null, second = null] = operands;
  const named =
    operator === "var" ? [first] : operator === "missing_some" ? second : isList(first) ? first : operands;
  const names: readonly JsonValue[] = isList(named) ? named : [named];
  return names.filter((name) => typeof name === "string").filter((name) => name !== "");
}

/** The variable of a run that a path leads to; undefined where it leads elsewhere. */
export function variableOf(path: string): string | undefined {
  const [root, name] = path.split(".");
  return root === "variables" && name !== undefined && name !== "" ? name : undefined;
}
