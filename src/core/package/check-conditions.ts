import { GateDecisionSchema, GateTypeSchema } from "../graph-state/schemas.js";
import { type NamedIn, callOf, usesOf, variableOf } from "./condition-uses.js";
import { type Finding, jsonPath, listNames, quote, warningFinding } from "./findings.js";
import type { GraphFile } from "./schemas.js";

/**
 * Conditions of edges that can never be relied on to hold: warnings only, since runs ask for their evaluation. `set`: the variables
 * that some step sets, or that a run of the workflow begins with.
 */
export function checkConditions(
  file: string,
  graph: GraphFile,
  set: ReadonlySet<string>,
): readonly Finding[] {
  return graph.edges.flatMap(({ conditionExpr }, index) => {
    if (conditionExpr === undefined) return [];
    const place = ["edges", index, "conditionExpr"];
    if (callOf(conditionExpr) === undefined) {
      const sentence = `has ${Object.keys(conditionExpr).length} keys, and is a value that always holds: write one operator, and join conditions with "and" or "or"`;
      return [warningFinding(file, jsonPath(place), sentence)];
    }
    const { reads, unknownOperators, compared, barePaths } = usesOf(conditionExpr);
    const warn = ({ at }: NamedIn, sentence: string): Finding =>
      warningFinding(file, jsonPath([...place, ...at]), sentence);
    return [
      ...unknownOperators.map((use) =>
        warn(
          use,
          `${quote(use.name)} is no operator of JSONLogic that is evaluated: with --conditions it does not hold`,
        ),
      ),
      ...reads.flatMap((use) => {
        const problem = problemOf(use.name, set);
        return problem === undefined ? [] : [warn(use, problem)];
      }),
      ...barePaths.map((use) =>
        warn(
          use,
          `has the text ${quote(use.name)}, and reads nothing there: write {"var": ${quote(use.name)}}`,
        ),
      ),
      ...compared
        .filter(isNoDecision)
        .map((use) =>
          warn(
            use,
            `compares ${quote(use.path)} with ${quote(use.name)}, which no gate is (there are: ${listNames(DECISIONS)})`,
          ),
        ),
    ];
  });
}

const DECISIONS: readonly string[] = GateDecisionSchema.options;

/** Whether a gate's decision is compared with what none can be: such a condition never holds, or always. */
function isNoDecision({ name, path }: { readonly name: string; readonly path: string }): boolean {
  return /^gateDecisions\.[^.]+$/.test(path) && !DECISIONS.includes(name);
}

/** Why nothing will ever stand at a path that a condition reads. */
function problemOf(path: string, set: ReadonlySet<string>): string | undefined {
  const [root = "", gate = ""] = path.split(".");
  const variable = variableOf(path);
  if (variable !== undefined) {
    if (set.has(variable)) return undefined;
    return `reads the variable ${quote(variable)}, which no step sets: name it in the setsVariables of the step that does (named are: ${listNames(set)})`;
  }
  if (root === "variables" || root === "routingFlags") return undefined;
  const gates = GateTypeSchema.options;
  if (root === "gateDecisions") {
    if (gate === "" || gates.some((known) => known === gate)) return undefined;
    return `reads the gate ${quote(gate)}, which there is not (there are: ${listNames(gates)})`;
  }
  return `reads ${quote(path)}, but conditions see variables, gateDecisions and routingFlags only: write ${quote(`variables.${path}`)} for a variable`;
}
