import { type Finding, errorFinding, listNames, quote, warningFinding } from "./findings.js";
import type { GraphFile, StepFrontmatter } from "./schemas.js";

/** Nodes that the engine does by itself, without a model: a merge without work, and a subworkflow that names its workflow (contracts §9). */

type Node = GraphFile["nodes"][number];

/** So deep runs may run runs: a run that a person has started may have one below it, that one another, and so on. */
export const MAX_SUBWORKFLOW_DEPTH = 4;

/** What of a node's step file says whether there is work to do. */
export interface StepWork {
  /** Below its front matter stands nothing. */
  readonly isBlank: boolean;
  readonly step?: StepFrontmatter;
}

/** Whether runs go through a merge to its only way on without asking a model. Anything else is worked like a step. */
export function isPassed(node: Node, { edges }: Pick<GraphFile, "edges">, work: StepWork): boolean {
  return isWorkless(node, work) && onlyWayOn(node, edges) !== undefined;
}

function isWorkless({ type, outputs = [] }: Node, { isBlank, step }: StepWork): boolean {
  const asks = [outputs, step?.outputs ?? [], step?.setsVariables ?? []].some((names) => names.length > 0);
  return type === "merge" && isBlank && !asks;
}

/** The only edge out of a node, where it leads elsewhere and has no condition: an engine has nothing to choose. */
function onlyWayOn({ id }: Node, edges: GraphFile["edges"]): GraphFile["edges"][number] | undefined {
  const ways = edges.filter(({ from }) => from === id);
  const [way] = ways;
  if (way === undefined || ways.length > 1 || way.to === id) return undefined;
  return way.conditionExpr === undefined && way.conditionText === undefined ? way : undefined;
}

/** A merge that asks for nothing and that the engine cannot go through: a model is asked there about nothing. */
export function checkMerge(
  file: string,
  graph: GraphFile,
  index: number,
  work: StepWork,
): readonly Finding[] {
  const node = graph.nodes[index];
  if (node === undefined || !isWorkless(node, work) || onlyWayOn(node, graph.edges) !== undefined) return [];
  const sentence = `merge ${quote(node.id)} has no work and not one way on without a condition, so a model decides there with nothing to go by: give it one such edge, or text in its step file`;
  return [warningFinding(file, `$.nodes[${index}]`, sentence)];
}

/** Which nodes may run a workflow, and that nothing has to be chosen behind them. */
export function checkCalls(file: string, graph: GraphFile): readonly Finding[] {
  return graph.nodes.flatMap((node, index) => {
    if (node.workflow === undefined) return [];
    if (node.type !== "subworkflow") {
      const sentence = `node ${quote(node.id)} is a ${node.type}: only a subworkflow runs a workflow. Change its type, or remove the key`;
      return [errorFinding(file, `$.nodes[${index}].workflow`, sentence)];
    }
    if (onlyWayOn(node, graph.edges) !== undefined) return [];
    const sentence = `subworkflow ${quote(node.id)} needs one edge to another node, without a condition: the engine goes on by it. Let a decision behind it choose`;
    return [errorFinding(file, `$.nodes[${index}]`, sentence)];
  });
}

/** A workflow of a package, as far as it matters who runs whom. */
interface Caller {
  readonly id: string;
  readonly graphFile: string;
  readonly graph: { readonly nodes: readonly { readonly id: string; readonly workflow?: string }[] };
}

/** Subworkflows whose workflow is not there, comes back to itself, or lies too deep. `listed`: what runs can be started of by name. */
export function checkSubworkflows(
  workflows: readonly Caller[],
  listed: ReadonlySet<string>,
): readonly Finding[] {
  const below = new RunsBelow(workflows);
  return workflows.flatMap(({ id, graphFile, graph }) =>
    graph.nodes.flatMap((node, index) => {
      if (node.workflow === undefined) return [];
      const problem = listed.has(node.workflow)
        ? circleOrDepth(id, node.workflow, below)
        : `runs the workflow ${quote(node.workflow)}, which bmad.json does not list under workflows (it lists: ${listNames(listed)})`;
      if (problem === undefined) return [];
      const place = `$.nodes[${index}].workflow`;
      return [errorFinding(graphFile, place, `subworkflow ${quote(node.id)} ${problem}`)];
    }),
  );
}

function circleOrDepth(caller: string, name: string, below: RunsBelow): string | undefined {
  for (let depth = 1; ; depth += 1) {
    const level = below.level(name, depth);
    if (level.size === 0) return undefined;
    if (level.has(caller)) {
      return `runs ${quote(name)}, which comes back to ${quote(caller)}: a workflow cannot run itself`;
    }
    if (depth > MAX_SUBWORKFLOW_DEPTH) {
      return `leads to more than ${MAX_SUBWORKFLOW_DEPTH} runs below one another: call less deep`;
    }
  }
}

/** Which workflows run below one, level by level. Each level is found once, however many name the workflow. */
class RunsBelow {
  private readonly called: ReadonlyMap<string, ReadonlySet<string>>;
  private readonly levels = new Map<string, ReadonlySet<string>[]>();

  constructor(workflows: readonly Caller[]) {
    this.called = new Map(
      workflows.map(({ id, graph }) => [
        id,
        new Set(graph.nodes.flatMap(({ workflow }) => (workflow === undefined ? [] : [workflow]))),
      ]),
    );
  }

  /** `depth` counts from 1, the workflow itself. */
  level(name: string, depth: number): ReadonlySet<string> {
    const levels = this.levels.get(name) ?? [new Set([name])];
    this.levels.set(name, levels);
    for (let last = levels.at(-1); levels.length < depth; last = levels.at(-1)) {
      const next = new Set<string>();
      for (const id of last ?? []) for (const below of this.called.get(id) ?? []) next.add(below);
      levels.push(next);
    }
    return levels[depth - 1] ?? new Set();
  }
}
