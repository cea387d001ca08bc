import { describe, expect, test } from "vitest";
import { drawGraph, drawMermaid } from "../../../src/core/package/draw-graph.js";
import type { GraphEdge, GraphNode, WorkflowGraph } from "../../../src/core/package/graph.js";
import { isPrintable } from "../../../src/core/printable.js";

const gated: WorkflowGraph = {
  entryNodeId: "build",
  nodes: [
    { id: "lost", type: "merge", file: "lost.md" },
    { id: "done", type: "end", file: "done.md" },
    {
      id: "build",
      type: "step",
      file: "build.md",
      title: "Build",
      agentId: "ines",
      outputs: ["artifacts/a.md"],
    },
    { id: "qa", type: "decision", file: "qa.md", outputs: [] },
    { id: "more", type: "subworkflow", file: "more.md", title: "more", workflow: "deep" },
  ],
  edges: [
    { from: "build", to: "qa", label: "built", isDefault: true },
    {
      from: "qa",
      to: "done",
      label: "released",
      isDefault: true,
      conditionText: "The gate lets it.",
      conditionExpr: { "==": [{ var: "gateDecisions.qaGate" }, "PASS"] },
    },
    { from: "qa", to: "more", label: "sent-back", conditionExpr: { "!": [1] } },
    { from: "more", to: "qa", label: "again" },
  ],
};

describe("a graph in a terminal", () => {
  test("has its nodes from the entry on, their edges below them, with conditions", () => {
    expect(drawGraph({ id: "gated", graph: gated })).toEqual([
      "workflow gated",
      "",
      '▶ build  step, "Build", by ines, writes artifacts/a.md',
      "  └─ built → qa  (default)",
      "",
      "◆ qa  decision",
      "  ├─ released → done  (default)",
      "  │    if The gate lets it.",
      '  │    when {"==":[{"var":"gateDecisions.qaGate"},"PASS"]}',
      "  └─ sent-back → more",
      '       when {"!":[1]}',
      "",
      "■ done  end",
      "",
      '▣ more  subworkflow, "more", runs deep',
      "  └─ again → qa",
      "",
      "○ lost  merge",
    ]);
  });
});

describe("a graph in Mermaid", () => {
  test("has a shape for each type, a thick arrow for the default edge, and conditions as labels", () => {
    expect(drawMermaid([{ id: "gated", graph: gated }])).toEqual([
      "flowchart TD",
      "  w0start(( )) --> w0n0",
      '  w0n0["build: Build"]',
      '  w0n1{"qa"}',
      '  w0n2(["done"])',
      '  w0n3[["more"]]',
      '  w0n4(("lost"))',
      '  w0n0 ==>|"built"| w0n1',
      '  w0n1 ==>|"released, if The gate lets it."| w0n2',
      '  w0n1 -->|"sent-back, when #123;#34;#33;#34;:#91;1#93;#125;"| w0n3',
      '  w0n3 -->|"again"| w0n1',
    ]);
  });

  test("draws several workflows beside each other", () => {
    const small: WorkflowGraph = {
      entryNodeId: "a",
      nodes: [{ id: "a", type: "end", file: "a.md" }],
      edges: [],
    };
    const drawn = drawMermaid([
      { id: 'one"', graph: small },
      { id: "two", graph: small },
    ]);
    expect(drawn).toEqual([
      "flowchart TD",
      '  subgraph w0["one#34;"]',
      "  w0start(( )) --> w0n0",
      '  w0n0(["a"])',
      "  end",
      '  subgraph w1["two"]',
      "  w1start(( )) --> w1n0",
      '  w1n0(["a"])',
      "  end",
    ]);
  });
});

const HOSTILE = [
  '"]; click w0n0 "javascript:alert(1)" %%{init: {}}%%',
  "end\nsubgraph x",
  "`**bold**`</script><img src=x onerror=alert(1)>",
  "\u001B[2J\u202Eevil\u0007",
  "#quot; #34;",
  "x".repeat(100_000),
  "```\n# out of the fence",
  "\uD800",
];

describe("a graph of hostile names", () => {
  test.each(HOSTILE)("%j forges no line, no syntax and nothing a terminal obeys", (text) => {
    const node = (id: string): GraphNode => ({
      id,
      type: "step",
      file: "f.md",
      title: text,
      agentId: text,
      outputs: [text],
    });
    const edge: GraphEdge = {
      from: "a",
      to: "b",
      label: text,
      conditionText: text,
      conditionExpr: { var: text },
    };
    const graph: WorkflowGraph = { entryNodeId: "a", nodes: [node("a"), node("b")], edges: [edge] };
    const text_ = drawGraph({ id: text, graph });
    expect(text_).toHaveLength(8);
    const mermaid = drawMermaid([{ id: text, graph }]);
    expect(mermaid).toHaveLength(5);
    for (const line of mermaid.slice(2, 4))
      expect(line).toMatch(/^ {2}w0n\d\["[\p{L}\p{N} .,:()/_#;-]*"\]$/u);
    expect(mermaid[4]).toMatch(/^ {2}w0n0 -->\|"[\p{L}\p{N} .,:()/_#;-]*"\| w0n1$/u);
    for (const line of [...text_, ...mermaid]) {
      expect(isPrintable(line)).toBe(true);
      expect(line.length).toBeLessThan(2_000);
    }
  });
});
