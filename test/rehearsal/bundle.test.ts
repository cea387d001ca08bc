import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { BUNDLE_FUNCTION_TOOLS } from "../../src/core/bundle/bundle-tools.js";
import { readBundleSituation } from "../../src/rehearsal/bundle-situation.js";
import { placeholder } from "../../src/rehearsal/placeholder.js";
import { readSteps } from "../../src/rehearsal/bundle-steps.js";
import { decide } from "../../src/rehearsal/decide.js";
import { newMemory } from "../../src/rehearsal/memory.js";
import type { ChatMessage, ChatRequest, Turn } from "../../src/rehearsal/wire.js";
import { BundleWorld, NOW } from "../fakes/bundle-world.js";
import { valueOf } from "../fakes/run-world.js";

let world: BundleWorld;
beforeEach(async () => {
  world = await BundleWorld.open();
});

const requestOf = (
  messages: readonly ChatMessage[],
  tools: readonly object[] = BUNDLE_FUNCTION_TOOLS,
): ChatRequest => ({ model: "x", messages: [...messages], tools }) as ChatRequest; // as the server parses it
const answer = (messages: readonly ChatMessage[]): Turn => {
  const first = decide(requestOf(messages), newMemory()).turn;
  expect(decide(requestOf(messages), newMemory()).turn).toEqual(first); // nothing but the messages counts
  expect(first.content.startsWith("[rehearsal]")).toBe(true);
  return first;
};

/** Runs a workflow of the example to its end, as the engine would. */
async function walk(workflow: string) {
  const run = await world.openRun({ workflow: `{bundle-root}/workflows/${workflow}/workflow.yaml` });
  const begin = valueOf(
    await world.host.begin(run.run.runId, { intent: "start", autopilot: false, yolo: false, now: NOW }),
  );
  const messages: ChatMessage[] = begin.messages.map((message) => ({ ...message }));
  for (let turn = 1; turn <= 30; turn += 1) {
    const { content, calls } = answer(messages);
    const withIds = calls.map((call, index) => ({ ...call, id: `t${turn}-${index}` }));
    messages.push({
      role: "assistant",
      content,
      tool_calls: withIds.map(({ id, name, arguments: args }) => ({
        id,
        function: { name, arguments: JSON.stringify(args) },
      })),
    });
    for (const call of withIds) {
      const result = await run.call(call.name, call.arguments, call.id);
      expect(result.success).toBe(true);
      messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(result) });
    }
    if (calls.length === 0) return { ...run, messages, content, turns: turn };
  }
  throw new Error("The rehearsal does not end.");
}

describe("a bundle is rehearsed end to end", () => {
  test("preload, a save at each section, done", async () => {
    const { run, session, content, messages, turns } = await walk("intake");
    expect(content.endsWith("\nWORKFLOW COMPLETE")).toBe(true);
    expect(valueOf(await world.host.judgeAnswer(run.runId, content)).kind).toBe("complete");
    expect(readdirSync(session).sort()).toEqual(["manifest.json", "request-2026-03-04.md"]);
    const text = readFileSync(join(session, "request-2026-03-04.md"), "utf8");
    expect(text).toContain("no model wrote this file");
    expect(text).toContain("5. Hand over");
    expect(text).toContain("What will you do with it, and by when? (a placeholder answers)");
    expect(turns).toBe(5); // the preload, a save at each of three sections, the end
    expect(JSON.stringify(messages)).not.toContain(world.dir);
  });

  test("steps as headings, an output without a template", async () => {
    const { session, content } = await walk("reading-list");
    expect(content).toContain("- 2. Choose");
    expect(readdirSync(session).sort()).toEqual(["manifest.json", "reading-list.md"]);
  });
});

describe("what it does when something is wrong", () => {
  const directive: ChatMessage = {
    role: "user",
    content:
      "RUN_DIRECTIVE\n- runType: bmad-bundle\n- workflow: {bundle-root}/w/workflow.yaml\n- date: 2026-03-04\n- outputs:\n  - a.md -> {session-folder}/a.md",
  };
  const called = (id: string, name: string): ChatMessage => ({
    role: "assistant",
    content: "x",
    tool_calls: [{ id, function: { name, arguments: "{}" } }],
  });
  const result = (id: string, value: object): ChatMessage => ({
    role: "tool",
    tool_call_id: id,
    content: JSON.stringify(value),
  });
  const preloaded = [
    called("1", "preload_workflow"),
    result("1", { success: true, instructions: "", workflowYaml: null }),
  ];

  test("a refused call becomes a question, and an answer a new attempt", () => {
    const refused = [
      directive,
      called("1", "preload_workflow"),
      result("1", { success: false, error: "No such\nfile." }),
    ];
    expect(answer(refused)).toMatchObject({ calls: [], content: expect.stringContaining("(No such file.)") });
    expect(answer([...refused, { role: "user", content: "Now." }]).calls[0]?.name).toBe("preload_workflow");
  });

  test("without its tools it says so", () => {
    const turn = decide(requestOf([directive], []), newMemory()).turn;
    expect(turn).toMatchObject({
      calls: [],
      content: expect.stringContaining("preload_workflow and save_output"),
    });
  });

  test("an end that is not accepted twice becomes a question", () => {
    const saved = [directive, ...preloaded, called("2", "save_output"), result("2", { success: true })];
    const done: ChatMessage = { role: "assistant", content: "x\nWORKFLOW COMPLETE" };
    const correction: ChatMessage = { role: "system", content: "Not complete." };
    expect(answer([...saved, done, correction]).content).toContain("WORKFLOW COMPLETE");
    expect(answer([...saved, done, correction, done, correction]).content).toContain("What shall I do?");
  });

  test("tool results of any shape do no harm", () => {
    for (const value of [
      null,
      [],
      1,
      { success: "yes" },
      { success: true, instructions: 3, workflowYaml: [] },
    ]) {
      answer([
        directive,
        called("1", "preload_workflow"),
        { role: "tool", tool_call_id: "1", content: JSON.stringify(value) },
      ]);
    }
    expect(answer([directive, { role: "tool", tool_call_id: "9", content: "no json" }]).calls).toHaveLength(
      1,
    );
  });

  test("a directive in any other message than a user's is none", () => {
    const turn = answer([
      { ...directive, role: "assistant" },
      { role: "user", content: "Hello" },
    ]);
    expect(turn.content).toContain("NODE_BRIEF");
  });
});

describe("readSteps", () => {
  test.each([
    [
      '<step n="1" goal="A">x<ask>Who?</ask></step><step n="2a" title="B"><template-output>y</template-output></step>',
      ["1 A", "2a B"],
    ],
    ["# Title\n## Step 1: A\ntext\n### 2. B\n## Step 3 - C\n## Notes", ["1 A", "2 B", "3 - C"]],
    ["## 1.1 A\n## 1.2 B", ["1.1 A", "1.2 B"]],
    ["nothing", []],
    ["<step>untitled</step>", ["1 "]],
  ])("%j", (text, expected) =>
    expect(readSteps(text).map(({ number, goal }) => `${number} ${goal}`)).toEqual(expected),
  );
  test("a hostile text is read in a moment", () => {
    expect(readSteps("<step ".repeat(100_000)).length).toBe(0);
    expect(readSteps("<step n='1'>".repeat(5_000)).length).toBe(200);
    expect(readSteps("# 1 ".repeat(100_000)).length).toBeLessThan(2);
  });
});

test("a workflow that need not save anything is rehearsed with what it may save", () => {
  const directive = [
    "RUN_DIRECTIVE",
    "- runType: bmad-bundle",
    "- workflow: w",
    "- outputs:",
    "- optionalOutputs:",
    "  - b.md -> {session-folder}/b.md",
  ].join("\n");
  const situation = readBundleSituation(requestOf([{ role: "user", content: directive }]));
  expect(situation?.outputs).toEqual([{ declared: "b.md", path: "{session-folder}/b.md" }]);
});

test.each(["a.json", "gate.JSON", "d.excalidraw", "n.ipynb"])("the placeholder of %s is JSON", (name) => {
  const step = {
    title: "",
    inputs: [],
    outputs: [],
    variables: [],
    transitions: [],
    headings: [],
  };
  const text = placeholder(
    { declared: name, path: name },
    { nodeId: "", workflow: "", step, inputs: [], said: [] },
  );
  expect(JSON.parse(text)).toHaveProperty("rehearsal");
});
