import { describe, expect, test } from "vitest";
import type { RunState } from "../../src/core/run/run-state.js";
import { renderDetails } from "../../src/workflows/run-details.js";

const HOSTILE = "x` [click](https://evil.example) ![](https://evil.example/p.png) <b>\u202e\u200b";

const STATE: RunState = {
  runId: "5c2a",
  projectId: "p",
  packageId: "k",
  workflowRef: "w",
  phase: "waiting-user",
  currentNodeId: "ask",
  stepsCompleted: [],
  allowedNext: [],
  variables: {},
  artifacts: [],
  paused: false,
  budget: {},
  usage: { modelTurns: 1, toolCalls: 2, promptTokens: 3, completionTokens: 4, cost: 0 },
  visit: 1,
  turn: 1,
  progress: [],
  audit: { lines: 0, sha256: "" },
};

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

describe("the details of a run in the Web UI", () => {
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
