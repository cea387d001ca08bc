import { type Finding, quote, warningFinding } from "./findings.js";
import type { GraphFile, StepFrontmatter } from "./schemas.js";

/** The variables that the run of a subworkflow begins with, and those that it hands up (contracts §9). */
export interface HandedVariables {
  /** Absent for none. */
  readonly variablesIn?: readonly string[];
  readonly variablesOut?: readonly string[];
}

/** Down go those that stand as `variables.<name>` among the inputs of a node or its step file, up those that its step file sets. */
export function handedVariables(
  { workflow, inputs = [] }: GraphFile["nodes"][number],
  step: StepFrontmatter | undefined,
): HandedVariables {
  if (workflow === undefined) return {};
  const variablesIn = [...new Set([...inputs, ...(step?.inputs ?? [])].flatMap(variableIn))];
  const variablesOut = [...new Set(step?.setsVariables ?? [])];
  return {
    ...(variablesIn.length === 0 ? {} : { variablesIn }),
    ...(variablesOut.length === 0 ? {} : { variablesOut }),
  };
}

/** None for an input that is a file. */
function variableIn(input: string): readonly string[] {
  const [, name] = /^variables\.([^./\s]{1,200})$/.exec(input) ?? [];
  return name === undefined ? [] : [name];
}

/** A workflow of a package that may run others, or be run by them. */
interface Workflow {
  readonly id: string;
  readonly graphFile: string;
  readonly graph: {
    readonly nodes: readonly (HandedVariables & { readonly id: string; readonly workflow?: string })[];
  };
  readonly steps: ReadonlyMap<string, StepFrontmatter>;
}

/** The variables that stand in the documents of runs by a graph: those that its steps set, and those that its workflows are handed. */
export function knownVariables(
  graphFile: string,
  steps: ReadonlyMap<string, StepFrontmatter>,
  workflows: readonly Workflow[],
): ReadonlySet<string> {
  const ids = new Set(workflows.filter((each) => each.graphFile === graphFile).map(({ id }) => id));
  const calls = workflows.flatMap(({ graph }) => graph.nodes);
  const handed = calls.filter(({ workflow }) => workflow !== undefined && ids.has(workflow));
  return new Set([...setBy(steps), ...handed.flatMap(({ variablesIn = [] }) => variablesIn)]);
}

/** Subworkflows that are to hand up a variable which nothing below sets, or down one which nothing above does. */
export function checkHanded(workflows: readonly Workflow[]): readonly Finding[] {
  return workflows.flatMap(({ graphFile, graph, steps }) => {
    const above = knownVariables(graphFile, steps, workflows);
    return graph.nodes.flatMap(({ id, workflow, variablesIn = [], variablesOut = [] }, index) => {
      const called = workflows.find((other) => other.id === workflow);
      if (called === undefined) return [];
      const below = new Set([...variablesIn, ...setBy(called.steps)]);
      const warn = (way: string, name: string, where: string): Finding => {
        const sentence = `subworkflow ${quote(id)} is to hand ${way} the variable ${quote(name)}, which no step of ${where} sets: name it in the setsVariables of the step that does`;
        return warningFinding(graphFile, `$.nodes[${index}]`, sentence);
      };
      return [
        ...variablesOut.filter((name) => !below.has(name)).map((name) => warn("up", name, quote(called.id))),
        ...variablesIn.filter((name) => !above.has(name)).map((name) => warn("down", name, "this workflow")),
      ];
    });
  });
}

function setBy(steps: ReadonlyMap<string, StepFrontmatter>): readonly string[] {
  return [...steps.values()].flatMap(({ setsVariables = [] }) => setsVariables);
}
