import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { GraphEdge, GraphNode } from "../../api-run.js";
import { useScrolling } from "../ui/scrolling.js";
import { TEXT_SCALE } from "../ui/text-scale.js";
import { visibleLine } from "../visible.js";
import { counted } from "../../../core/text.js";
import {
  LABEL_CHARS,
  NODE_HEIGHT,
  NODE_WIDTH,
  type Placed,
  pathThrough,
  placeGraph,
  isDrawable,
} from "./layout.js";

/** A graph, with a run on it or without one. */
export interface DrawnGraph {
  readonly entryNodeId: string;
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}
export type DrawnNode = Pick<GraphNode, "id" | "type"> & Partial<GraphNode>;
export type DrawnEdge = Pick<GraphEdge, "from" | "to" | "label"> &
  Partial<GraphEdge> & {
    /** A move that the guard has refused and that no edge of the graph stands for. */
    readonly isNoEdge?: boolean;
  };

export type Standing = "" | "waiting" | "failed";

interface GraphViewProps {
  readonly graph: DrawnGraph;
  /** How the run stands at its current node. */
  readonly standing?: Standing;
  readonly chosen?: string;
  readonly hrefOf?: (nodeId: string) => string;
}

const TITLE_CHARS = 25;
/** On a narrow screen a graph is drawn smaller, down to this part of its size. */
const SMALLEST = 0.6;

export function GraphView(props: GraphViewProps) {
  const { graph } = props;
  const shape = JSON.stringify([
    graph.nodes.map(({ id }) => id),
    graph.edges.map(({ from, to, label }) => [from, to, label]),
  ]);
  const isDrawn = isDrawable(graph.nodes.length, graph.edges.length);
  const placed = useMemo(() => (isDrawn ? placeGraph(shapeOf(graph)) : undefined), [shape]);
  return (
    <>
      {placed === undefined ? (
        <p class="muted">
          The graph has {graph.nodes.length} nodes and {graph.edges.length} edges: too many to be drawn.
        </p>
      ) : (
        <Scrolled asOf={shape}>
          <Drawing {...props} placed={placed} />
        </Scrolled>
      )}
      {placed !== undefined && <Legend {...props} />}
      <GraphTable {...props} isOpen={placed === undefined} />
    </>
  );
}

function Scrolled({ asOf, children }: { readonly asOf: string; readonly children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  useScrolling(place, "Drawing of the graph", asOf);
  return (
    <div class="graph card" ref={place}>
      {children}
    </div>
  );
}

function shapeOf({ nodes, edges }: DrawnGraph) {
  return { nodes: nodes.map(({ id, title = id }) => ({ id, title })), edges };
}

type DrawingProps = GraphViewProps & { readonly placed: Placed };

function Drawing(props: DrawingProps) {
  const { placed } = props;
  return (
    <svg
      width={placed.width * TEXT_SCALE}
      height={placed.height * TEXT_SCALE}
      viewBox={`0 0 ${placed.width} ${placed.height}`}
      style={{ minWidth: `${SMALLEST * placed.width * TEXT_SCALE}px` }}
      role="group"
      aria-label="Graph. The same is in the table below it."
    >
      <defs>
        {(["", "taken", "refused"] as const).map((kind) => (
          <marker
            key={kind}
            id={`tip-${kind}`}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path class={`tip ${kind}`} d="M0,0 L8,4 L0,8 z" />
          </marker>
        ))}
      </defs>
      <Edges {...props} />
      <Nodes {...props} />
    </svg>
  );
}

function Edges({ graph, placed }: DrawingProps) {
  return (
    <g aria-hidden="true">
      {placed.edges.map(({ index, points, label }) => {
        const edge = graph.edges[index];
        if (edge === undefined) return null;
        const kind = kindOf(edge);
        const words = edgeWords(edge);
        return (
          <g key={index}>
            <path
              class={`edge ${kind}${edge.isClosed === true ? " closed" : ""}`}
              d={pathThrough(points)}
              marker-end={`url(#tip-${kind})`}
            />
            <text class={`edge-label ${kind}`} x={label.x} y={label.y + 4}>
              <title>
                {visibleLine(`${edge.label}${edge.conditionText ? `: ${edge.conditionText}` : ""}`)}
              </title>
              {words}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function Nodes({ graph, placed, standing = "", chosen, hrefOf }: DrawingProps) {
  return (
    <>
      {placed.nodes.map(({ id, x, y }, index) => {
        const node = graph.nodes[index];
        if (node === undefined) return null;
        const mine = `node ${nodeClass(node, standing)}${chosen === id ? " chosen" : ""}`;
        const box = <NodeBox node={node} isEntry={id === graph.entryNodeId} standing={standing} />;
        const place = `translate(${x - NODE_WIDTH / 2},${y - NODE_HEIGHT / 2})`;
        return (
          <g key={id} class={mine} transform={place}>
            {hrefOf === undefined ? (
              box
            ) : (
              <a href={hrefOf(id)} aria-current={chosen === id ? "true" : undefined}>
                {box}
              </a>
            )}
          </g>
        );
      })}
    </>
  );
}

interface NodeBoxProps {
  readonly node: DrawnNode;
  readonly isEntry: boolean;
  readonly standing: Standing;
}

function NodeBox({ node, isEntry, standing }: NodeBoxProps) {
  const round = node.type === "end" ? NODE_HEIGHT / 2 : node.type === "decision" ? 2 : 10;
  const marks = [
    node.isCurrent === true ? HERE[standing] : "",
    node.type === "step" ? "" : node.type,
    isEntry ? "entry" : "",
    loopWords(node.visits ?? 0),
  ];
  const title = visibleLine(node.title ?? node.id);
  return (
    <>
      <rect width={NODE_WIDTH} height={NODE_HEIGHT} rx={round}>
        <title>{`${title} (${visibleLine(node.id)})`}</title>
      </rect>
      <text x={14} y={22} aria-hidden="true">
        {cut(title, TITLE_CHARS)}
      </text>
      <text class="under" x={14} y={40}>
        {cut(marks.filter((mark) => mark !== "").join(" · ") || visibleLine(node.id), 32)}
      </text>
    </>
  );
}

const HERE: Readonly<Record<Standing, string>> = {
  "": "here now",
  waiting: "waits for you",
  failed: "failed here",
};

function loopWords(visits: number): string {
  return visits === 0 ? "" : visits === 1 ? "visited" : `visited ${visits} times`;
}

function kindOf({ taken = 0, refused = 0 }: DrawnEdge): "" | "taken" | "refused" {
  return taken > 0 ? "taken" : refused > 0 ? "refused" : "";
}

function nodeClass({ visits = 0, isCurrent = false }: DrawnNode, standing: Standing): string {
  return `${visits > 0 ? "visited" : ""} ${isCurrent ? `current ${standing}` : ""}`;
}

function edgeWords({ label, taken = 0, refused = 0 }: DrawnEdge): string {
  const counts = `${taken > 1 ? ` ×${taken}` : ""}${refused > 0 ? ` ✕${refused}` : ""}`;
  return `${cut(visibleLine(label), LABEL_CHARS)}${counts}`;
}

function stateWords({ isCurrent = false, visits = 0 }: DrawnNode, standing: Standing): string {
  const state = isCurrent ? HERE[standing] : visits > 0 ? "visited" : "not visited";
  return visits > 1 ? `${state}, ${counted(visits, "visit")}` : state;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

const LINES = [
  ["taken", "taken", ({ taken = 0 }: DrawnEdge) => taken > 0],
  ["refused by the guard", "refused", ({ refused = 0, taken = 0 }: DrawnEdge) => refused > 0 && taken === 0],
  ["closed: its condition does not hold", "closed", ({ isClosed = false }: DrawnEdge) => isClosed],
] as const;

/** What of the lines and boxes has to be explained. */
function Legend({ graph: { edges, nodes }, standing = "" }: GraphViewProps) {
  const used = LINES.filter(([, , isSo]) => edges.some(isSo));
  const hasFailed = standing === "failed" && nodes.some(({ isCurrent }) => isCurrent);
  if (used.length === 0 && !hasFailed) return null;
  return (
    <ul class="legend">
      {hasFailed && (
        <li>
          <svg class="node current failed" width="30" height="14" aria-hidden="true">
            <rect x="2" y="2" width="26" height="10" rx="3" />
          </svg>
          where the run has failed
        </li>
      )}
      {used.map(([words, kind]) => (
        <li key={kind}>
          <svg width="30" height="10" aria-hidden="true">
            <path class={`edge ${kind}`} d="M0,5 L30,5" />
          </svg>
          {words}
        </li>
      ))}
    </ul>
  );
}

function GraphTable({ graph, standing = "", hrefOf, isOpen }: GraphViewProps & { readonly isOpen: boolean }) {
  return (
    <details open={isOpen}>
      <summary class="small">The graph as a table</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="The graph as a table">
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">State</th>
              <th scope="col">Leads to</th>
            </tr>
          </thead>
          <tbody>
            {graph.nodes.map((node) => (
              <tr key={node.id}>
                <td>
                  {hrefOf === undefined ? (
                    visibleLine(node.id)
                  ) : (
                    <a href={hrefOf(node.id)}>{visibleLine(node.id)}</a>
                  )}
                </td>
                <td>{stateWords(node, standing)}</td>
                <td>
                  {graph.edges
                    .filter(({ from }) => from === node.id)
                    .map((edge, index) => (
                      <div key={index}>{edgeSentence(edge)}</div>
                    ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function edgeSentence({
  to,
  label,
  taken = 0,
  refused = 0,
  isClosed = false,
  conditionText = "",
  isNoEdge = false,
}: DrawnEdge): string {
  const parts = [
    taken > 0 ? `taken ${taken === 1 ? "once" : `${taken} times`}` : "",
    refused > 0 ? `refused ${refused === 1 ? "once" : `${refused} times`}` : "",
    isClosed ? "closed now" : "",
    conditionText === "" ? "" : `if ${conditionText}`,
  ].filter((part) => part !== "");
  const name = isNoEdge ? "no edge" : `“${label}”`;
  return visibleLine(`${to}, ${name}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`);
}
