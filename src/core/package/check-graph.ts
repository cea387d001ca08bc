import { canonicalJson } from "../canonical-json.js";
import { defined } from "../defined.js";
import { checkOutputs } from "./check-step.js";
import { checkCalls } from "./engine-nodes.js";
import { type Finding, errorFinding, listNames, quote, warningFinding } from "./findings.js";
import { reachableNodes } from "./graph.js";
import { repeatsIn } from "./repeats.js";
import type { GraphFile } from "./schemas.js";

/** The rules on a graph that its schema cannot say (contracts §2). */
export function checkGraphRules(
  file: string,
  graph: GraphFile,
  agentIds: ReadonlySet<string> | undefined,
): readonly Finding[] {
  return [
    ...checkNodeIds(file, graph),
    ...checkEnds(file, graph),
    ...checkDefaults(file, graph),
    ...checkAgents(file, graph, agentIds),
    ...graph.nodes.flatMap(({ outputs }, index) => checkOutputs(file, ["nodes", index], outputs)),
    ...checkShapeOfWalk(file, graph),
    ...checkWaysToEnd(file, graph),
    ...checkCalls(file, graph),
  ];
}

/** Whether agents.json has the agent; unknown agents are not looked for when that file is broken. */
export function checkAgentId(
  file: string,
  path: string,
  who: string,
  agentId: string | undefined,
  agentIds: ReadonlySet<string> | undefined,
): readonly Finding[] {
  if (agentId === undefined || agentIds === undefined || agentIds.has(agentId)) return [];
  const known = listNames(agentIds);
  const sentence = `${who} names the agent ${quote(agentId)}, which agents.json does not have (it has: ${known})`;
  return [errorFinding(file, path, sentence)];
}

function checkNodeIds(file: string, graph: GraphFile): readonly Finding[] {
  return repeatsIn(graph.nodes.map(({ id }) => id)).map(({ key, index, first }) => {
    const sentence = `the id ${quote(key)} belongs to nodes[${first}] already: give each node its own`;
    return errorFinding(file, `$.nodes[${index}].id`, sentence);
  });
}

function checkEnds(file: string, graph: GraphFile): readonly Finding[] {
  const ids = new Set(graph.nodes.map((node) => node.id));
  const check = (path: string, nodeId: string) => {
    if (ids.has(nodeId)) return [];
    const sentence = `${quote(nodeId)} is not the id of a node (there are: ${listNames(ids)})`;
    return [errorFinding(file, path, sentence)];
  };
  return [
    ...check("$.entryNodeId", graph.entryNodeId),
    ...graph.edges.flatMap((edge, index) => [
      ...check(`$.edges[${index}].from`, edge.from),
      ...check(`$.edges[${index}].to`, edge.to),
    ]),
  ];
}

function checkDefaults(file: string, graph: GraphFile): readonly Finding[] {
  const sources = graph.edges.map(({ from, isDefault }) => (isDefault ? from : undefined));
  return repeatsIn(sources).map(({ key, index, first }) => {
    const sentence = `edges[${first}] is the default out of ${quote(key)} already: keep one of the two`;
    return errorFinding(file, `$.edges[${index}].isDefault`, sentence);
  });
}

function checkAgents(
  file: string,
  graph: GraphFile,
  agentIds: ReadonlySet<string> | undefined,
): readonly Finding[] {
  return graph.nodes.flatMap((node, index) =>
    checkAgentId(file, `$.nodes[${index}].agentId`, `node ${quote(node.id)}`, node.agentId, agentIds),
  );
}

/** Where a walk comes to a part of the graph that it cannot leave, and that has no end. */
function checkWaysToEnd(file: string, graph: GraphFile): readonly Finding[] {
  const ends = graph.nodes.filter((node) => node.type === "end");
  const beyond = ""; // the id of no node: from there to every end, and backwards
  const leading = reachableNodes({
    entryNodeId: beyond,
    edges: [
      ...ends.map(({ id }) => ({ from: beyond, to: id })),
      ...graph.edges.map(({ from, to }) => ({ from: to, to: from })),
    ],
  });
  if (!leading.has(graph.entryNodeId)) return []; // that no end can be reached at all is said already
  const reached = reachableNodes(graph);
  const ids = new Set(graph.nodes.map(({ id }) => id));
  return graph.edges.flatMap(({ from, to }, index) => {
    if (!reached.has(from) || !leading.has(from) || leading.has(to) || !ids.has(to)) return [];
    const sentence = `leads to ${quote(to)}, from where no way leads to an end: add an edge, or make its last node an end`;
    return [warningFinding(file, `$.edges[${index}]`, sentence)];
  });
}

/** What a walk through the graph would stumble over: warnings only. */
function checkShapeOfWalk(file: string, graph: GraphFile): readonly Finding[] {
  const findings: Finding[] = [];
  const reached = reachableNodes(graph);
  const types = new Map(graph.nodes.map((node) => [node.id, node.type]));
  const outgoing = new Map<string, number>();
  for (const edge of graph.edges) outgoing.set(edge.from, (outgoing.get(edge.from) ?? 0) + 1);
  for (const [index, node] of graph.nodes.entries()) {
    if (!reached.has(node.id)) {
      const sentence = `node ${quote(node.id)} cannot be reached from the entry ${quote(graph.entryNodeId)}: add an edge to it or remove it`;
      findings.push(warningFinding(file, `$.nodes[${index}]`, sentence));
    }
    const edges = outgoing.get(node.id) ?? 0;
    if (node.type === "decision" && edges < 2) {
      const sentence = `decision ${quote(node.id)} has ${edges === 0 ? "no edge" : "one edge"}: give it two or more, or make it a step`;
      findings.push(warningFinding(file, `$.nodes[${index}]`, sentence));
    }
  }
  if (!graph.nodes.some((node) => node.type === "end" && reached.has(node.id))) {
    const sentence = "no end node can be reached: a run completes only if it sets workflowStatus to complete";
    findings.push(warningFinding(file, "$.nodes", sentence));
  }
  for (const [index, edge] of graph.edges.entries()) {
    if (types.get(edge.from) !== "end") continue;
    const sentence = `the end node ${quote(edge.from)} has an edge to ${quote(edge.to)}: remove it, or change the node's type`;
    findings.push(warningFinding(file, `$.edges[${index}]`, sentence));
  }
  return [...findings, ...checkTwins(file, graph)];
}

/** An edge of the same label between the same nodes under the same condition: nobody can tell it from the first. */
function checkTwins(file: string, graph: GraphFile): readonly Finding[] {
  const edges = graph.edges.map(({ from, to, label, conditionText, conditionExpr }) =>
    canonicalJson(defined({ from, to, label, conditionText, conditionExpr })),
  );
  return repeatsIn(edges).map(({ index, first }) =>
    warningFinding(file, `$.edges[${index}]`, `is edges[${first}] once more: remove one of the two`),
  );
}
