import { describe, expect, test } from "vitest";
import { patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until } from "./harness.js";

const done = (from: string, to: string) =>
  patch({ stepsCompleted: { append: [from] }, currentNodeId: { set: to } });
const STRAIGHT = [
  { calls: [done("ask", "middle")] },
  { calls: [done("middle", "finish")] },
  { calls: [patch({ stepsCompleted: { append: ["finish"] } })] },
] as const;

describe("an answer that is no question", () => {
  test.each([
    ["empty", "", "Your answer was empty"],
    ["prose that asks nothing", "I will now continue.", "called no tool and asked nothing"],
    ["a call written as text", '<tool_call>{"name":"fs_list"}</tool_call>', "a tool call written as text"],
    ["a thought alone", "<think>Which colour?</think>", "Your answer was empty"],
  ])("%s, is told to the model once, and nobody is bothered", async (_, content, words) => {
    const bench = await openBench([{ content }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    expect(await run.result()).toMatchObject({ phase: "completed" });
    expect(bench.model.requests[1]?.messages.at(-1)).toMatchObject({ role: "system" });
    expect(bench.model.requests[1]?.messages.at(-1)?.content).toContain(words);
    expect((await run.state()).usage.modelTurns).toBe(4);
  });

  test("again, is asked of a person in words that say what is wrong; a call between the two begins anew", async () => {
    const read = { calls: [{ name: "fs_list", arguments: { path: "@pkg" } }] };
    const bench = await openBench([{ content: "" }, read, { content: "" }, { content: " " }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    const { question } = await until(run, "waiting-user");
    expect(question).toEqual({
      nodeId: "ask",
      text: "The agent's answers are empty. Tell it what to do.",
      code: "LLM_BAD_RESPONSE",
    });
    expect(bench.model.requests).toHaveLength(4);
    await run.answer({ nodeId: "ask", text: "Go on." });
    expect(await run.result()).toMatchObject({ phase: "completed" });
  });

  test("with autopilot the model is told three times", async () => {
    const bench = await openBench([
      { content: "I do a." },
      { content: "I do b." },
      { content: "I do c." },
      { content: "I do d." },
      ...STRAIGHT,
    ]);
    const run = await bench.start(twoNodePackage(), { autopilot: true });
    expect((await until(run, "waiting-user")).question).toEqual({ nodeId: "ask", text: "I do d." });
    await run.answer({ nodeId: "ask", text: "Go on." });
    expect(await run.result()).toMatchObject({ phase: "completed" });
  });

  test("thoughts are kept in the conversation, and are no part of the question", async () => {
    const content = "<think>Red or blue.</think>\nWhich colour?";
    const bench = await openBench([{ content }, ...STRAIGHT]);
    const run = await bench.start(twoNodePackage());
    expect((await until(run, "waiting-user")).question).toEqual({ nodeId: "ask", text: "Which colour?" });
    const entries = await (await bench.filesOf(run)).conversation("visit-1").entries();
    expect(entries.at(-1)).toMatchObject({ type: "assistant", content });
    await run.answer({ nodeId: "ask", text: "Blue." });
    await run.result();
    expect(bench.model.requests[1]?.messages.some((message) => message.content === content)).toBe(true);
  });
});
