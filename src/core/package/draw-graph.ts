import { excerpt, listSome } from "../text.js";
import { type GraphEdge, type GraphNode, type WorkflowGraph, reachableNodes } from "./graph.js";

/** A workflow as it is drawn. */
export interface DrawnWorkflow {
  readonly id: string;
  readonly graph: WorkflowGraph;
}

const MAX_LABEL_CHARS = 120;
const MAX_CONDITION_CHARS = 200;

/**
 * A graph for a terminal, line by line: each node, nearest to the entry first, and below it the edges out of it with their
 * conditions. Printable, whatever the package calls its nodes.
 */
export function drawGraph({ id, graph }: DrawnWorkflow): readonly string[] {
  return [`workflow ${excerpt(id)}`, ...inOrder(graph).flatMap((node) => ["", ...drawNode(node, graph)])];
}

function drawNode(node: GraphNode, graph: WorkflowGraph): readonly string[] {
  const edges = graph.edges.filter(({ from }) => from === node.id);
  const mark = graph.entryNodeId === node.id ? "▶" : MARKS[node.type];
  const about = [
    node.type,
    ...(node.title === undefined ? [] : [`"${excerpt(node.title)}"`]),
    ...(node.workflow === undefined ? [] : [`runs ${excerpt(node.workflow)}`]),
    ...(node.agentId === undefined ? [] : [`by ${excerpt(node.agentId)}`]),
    ...(node.outputs === undefined || node.outputs.length === 0
      ? []
      : [`writes ${listSome(node.outputs, 5)}`]),
  ];
  return [
    `${mark} ${excerpt(node.id)}  ${about.join(", ")}`,
    ...edges.flatMap((edge, index) => drawEdge(edge, index === edges.length - 1)),
  ];
}

const MARKS: Readonly<Record<GraphNode["type"], string>> = {
  step: "●",
  decision: "◆",
  merge: "○",
  subworkflow: "▣",
  end: "■",
};

function drawEdge(edge: GraphEdge, isLast: boolean): readonly string[] {
  const indent = isLast ? "       " : "  │    ";
  return [
    `  ${isLast ? "└─" : "├─"} ${excerpt(edge.label, MAX_LABEL_CHARS)} → ${excerpt(edge.to)}${edge.isDefault === true ? "  (default)" : ""}`,
    ...conditionsOf(edge).map((condition) => `${indent}${condition}`),
  ];
}

/** What is said of when an edge is taken: for the model, and for the guard. */
function conditionsOf({ conditionText, conditionExpr }: GraphEdge): readonly string[] {
  return [
    ...(conditionText === undefined ? [] : [`if ${excerpt(conditionText, MAX_CONDITION_CHARS)}`]),
    ...(conditionExpr === undefined
      ? []
      : [`when ${excerpt(JSON.stringify(conditionExpr), MAX_CONDITION_CHARS)}`]),
  ];
}

/** Nearest to the entry first; those it cannot reach last. */
function inOrder(graph: WorkflowGraph): readonly GraphNode[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const ids = new Set([...reachableNodes(graph), ...nodes.keys()]);
  return [...ids].flatMap((id) => nodes.get(id) ?? []);
}

/** Graphs as one Mermaid flowchart, line by line: one of its own for each workflow, where there are several. */
export function drawMermaid(workflows: readonly DrawnWorkflow[]): readonly string[] {
  return [
    "flowchart TD",
    ...workflows.flatMap(({ id, graph }, index) => {
      const lines = mermaidLines(graph, `w${index}`);
      if (workflows.length === 1) return lines;
      return [`  subgraph w${index}["${mermaidText(id)}"]`, ...lines, "  end"];
    }),
  ];
}

/** Names of a package are never ids of the drawing: some are words of Mermaid's own, such as `end`. */
function mermaidLines(graph: WorkflowGraph, prefix: string): readonly string[] {
  const nodes = inOrder(graph);
  const names = new Map(nodes.map(({ id }, index) => [id, `${prefix}n${index}`]));
  return [
    `  ${prefix}start(( )) --> ${names.get(graph.entryNodeId)}`,
    ...nodes.map((node) => {
      const [open, close] = SHAPES[node.type];
      const title = node.title === undefined || node.title === node.id ? "" : `: ${node.title}`;
      return `  ${names.get(node.id)}${open}"${mermaidText(`${node.id}${title}`)}"${close}`;
    }),
    ...graph.edges.map((edge) => {
      const [condition] = conditionsOf(edge);
      const label = condition === undefined ? edge.label : `${edge.label}, ${condition}`;
      const arrow = edge.isDefault === true ? "==>" : "-->";
      return `  ${names.get(edge.from)} ${arrow}|"${mermaidText(label)}"| ${names.get(edge.to)}`;
    }),
  ];
}

const SHAPES: Readonly<Record<GraphNode["type"], readonly [open: string, close: string]>> = {
  step: ["[", "]"],
  decision: ["{", "}"],
  merge: ["((", "))"],
  subworkflow: ["[[", "]]"],
  end: ["([", "])"],
};

/** A text inside of quotes: all that Markdown, HTML or Mermaid could take for its own is a character reference of Mermaid's. */
function mermaidText(text: string): string {
  return excerpt(text, MAX_CONDITION_CHARS).replaceAll(
    /[^\p{L}\p{N} .,:()/_-]/gu,
    (char) => `#${char.codePointAt(0)};`,
  );
}
