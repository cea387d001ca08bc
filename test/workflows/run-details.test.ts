import { describe, expect, test } from "vitest";
import type { WorkflowGraph } from "../../src/core/package/graph.js";
import type { RunState } from "../../src/core/run/run-state.js";
import { renderDetails } from "../../src/workflows/run-details.js";
import { RUN_STATE } from "../fakes/run-state.js";

const HOSTILE = "x` [click](https://evil.example) ![](https://evil.example/p.png) <b>\u202e\u200b";

const STATE: RunState = { ...RUN_STATE, phase: "waiting-user" };

/** What a reader of Markdown takes for text: fenced blocks and code spans taken out. */
function live(markdown: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of markdown.split("\n")) {
    const run = /^`{3,}/.exec(line)?.[0];
    if (fence === undefined && run !== undefined) fence = run;
    else if (fence === undefined) lines.push(line);
    else if (run !== undefined && line.trim() === run && run.length >= fence.length) fence = undefined;
  }
  return lines.join("\n").replace(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g, "");
}

/** As a package may have it: a node for each id, the first one the entry. */
function graphOf(ids: readonly string[], title?: string): WorkflowGraph {
  const nodes = ids.map((id) => ({ id, type: "step" as const, file: "a.md", ...(title && { title }) }));
  return { entryNodeId: ids[0] ?? "", nodes, edges: [] };
}

describe("the details of a run in the Web UI", () => {
  test("show the graph as a table: where the run is, was and may go", () => {
    const state: RunState = {
      ...STATE,
      phase: "running",
      currentNodeId: "middle",
      stepsCompleted: ["ask"],
      allowedNext: [{ to: "finish", label: "done" }],
    };
    const lines = renderDetails(state, graphOf(["ask", "middle", "finish"])).split("\n");
    expect(lines.filter((line) => line.startsWith("|"))).toEqual([
      "| node | title | state |",
      "| --- | --- | --- |",
      "| `ask` |  | ✔ visited |",
      "| `middle` |  | ▶ current |",
      "| `finish` |  | → next |",
    ]);
  });

  test("count the artifacts that are not shown, those that the document no longer holds as well", () => {
    const artifacts = Array.from({ length: 50 }, (_, index) => `part-${index}.md`);
    const details = renderDetails({ ...STATE, artifacts, earlierArtifacts: 300 });
    expect(details).toContain("Artifacts:\n- 310 more\n- `part-10.md`");
  });

  test("show of a large graph the part around the node at hand", () => {
    const ids = Array.from({ length: 500 }, (_, index) => `node-${index}`);
    const details = renderDetails({ ...STATE, currentNodeId: "node-400" }, graphOf(ids, "語".repeat(300)));
    expect(details).toContain("| `node-400` |");
    expect(details).toContain("476 more of 500 nodes are not shown.");
    expect(new TextEncoder().encode(details).length).toBeLessThanOrEqual(16_000);
  });

  test.each([
    "a|[x](https://evil.example)",
    String.raw`a\|[x](https://evil.example)`,
    String.raw`a\\|[x](https://evil.example)`,
    "a`|`[x](https://evil.example)",
    "a\n| <b>",
  ])("let no name end its cell: %j", (id) => {
    const details = renderDetails({ ...STATE, currentNodeId: id }, graphOf([id, "b"], id));
    const rows = details.split("\n").filter((line) => line.startsWith("|"));
    expect(rows).toHaveLength(4);
    for (const row of rows) expect(row.split("|")).toHaveLength(5);
    expect(live(details)).not.toMatch(/evil|<b>|\[x/);
  });

  test("say what a failed run failed with, and the command that goes on", () => {
    const message = "No. [a](https://evil.example)\n```\n# x";
    const details = renderDetails({
      ...STATE,
      phase: "failed",
      failure: { code: "LLM_AUTH_FAILED", message },
    });
    expect(details).toContain("**Failed: `LLM_AUTH_FAILED`**");
    expect(details).toContain("interlock retry 5c2a");
    expect(live(details)).not.toMatch(/evil|# x/);
  });

  test("say how a paused run goes on", () => {
    expect(renderDetails({ ...STATE, paused: true })).toContain("interlock resume 5c2a");
  });

  test("hold nothing live of a question, a node, a step, an artifact or a step's result", () => {
    const details = renderDetails({
      ...STATE,
      currentNodeId: HOSTILE,
      stepsCompleted: [HOSTILE],
      artifacts: [`artifacts/${HOSTILE}.md`],
      question: { nodeId: HOSTILE, text: `${HOSTILE}\n\`\`\`\n\`\`\`\`\n[a](https://evil.example)\n# x` },
      progress: [{ seq: 1, nodeId: HOSTILE, text: `fs.write ${HOSTILE}\n- [a](https://evil.example)` }],
    });
    expect(live(details)).not.toMatch(/evil|\[|<|!|#/);
    expect(details).not.toMatch(/[\u202e\u200b]/);
    expect(details).toContain(String.raw`\u{202e}`);
  });

  test("stay within their limit with whole blocks, whatever is said", () => {
    const long = "`[a](https://evil.example) ".repeat(2_000);
    const details = renderDetails({
      ...STATE,
      stepsCompleted: Array.from({ length: 500 }, (_, index) => `${long.slice(0, 150)}${index}`),
      artifacts: Array.from({ length: 500 }, (_, index) => `artifacts/${long.slice(0, 150)}${index}`),
      question: { nodeId: "ask", text: long },
      progress: Array.from({ length: 60 }, (_, index) => ({
        seq: index,
        nodeId: "ask",
        text: long.slice(0, 300),
      })),
    });
    expect(details.length).toBeLessThanOrEqual(16_000);
    expect(live(details)).not.toMatch(/evil|\[/);
    expect(details).toContain("interlock answer 5c2a");
  });
});

test("the runs above and below a run are named", () => {
  const below = { runId: "b", workflowRef: HOSTILE };
  const text = renderDetails({ ...STATE, parentRunId: "a", below });
  expect(text).toContain("A subworkflow of run `a`.");
  expect(text).toContain("Waits for run `b` of workflow ");
  expect(live(text)).not.toContain("evil");
  expect(renderDetails(STATE)).not.toMatch(/subworkflow|Waits for/);
});
