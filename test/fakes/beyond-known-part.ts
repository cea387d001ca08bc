import { graphAround } from "../../src/core/package/graph-part.js";
import type { WorkflowGraph } from "../../src/core/package/graph.js";
import { firstWay, nestedPackage } from "./nested-package.js";
import type { ChatRequestBody, ScriptedAnswer } from "./scripted-model.js";
import { nodeOf, step } from "./walk.js";

/**
 * A package whose graph is known in parts, and a model that moves twice in one answer: its first move leads where the part that a run
 * begins with ends. `asked` are the nodes at which it is asked, one after the other.
 */
export function beyondKnownPart() {
  const names = Array.from({ length: 24 }, (_, place) => `${"long-".repeat(36)}${place}`);
  const nodes = Object.fromEntries(names.map((id) => [id, id === names.at(-1) ? { type: "end" } : {}]));
  const files = nestedPackage({ main: { nodes } });
  const graph = JSON.parse(files["main/graph.json"] ?? "{}") as WorkflowGraph;
  const known = graphAround(graph, graph.entryNodeId).nodes;
  const border = names.indexOf(known.find(({ isBorder }) => isBorder === true)?.id ?? "");
  const [before = "", at = "", beyond = ""] = names.slice(border - 1);
  const model = (request: ChatRequestBody): ScriptedAnswer =>
    nodeOf(request) === before ? { calls: [step(before, at), step(at, beyond)] } : firstWay(request);
  return { files, model, asked: names.filter((name) => name !== at) };
}
