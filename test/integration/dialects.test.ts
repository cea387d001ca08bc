import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startProvider } from "../fakes/provider-server.js";
import { type Asked, PROVIDERS, type Said } from "../fakes/providers.js";
import { call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until } from "./harness.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

const REFUSAL = "I cannot help with that.";

const textOf = (content: unknown) => (typeof content === "string" ? content : JSON.stringify(content ?? ""));

/** What a model says next, told by the conversation: parallel reads, a question, and in the middle node a refusal. */
function answerTo({ body }: Asked): Said {
  const texts = body.messages.map(({ content }) => textOf(content));
  const brief = texts.findLast((text) => text.startsWith("NODE_BRIEF")) ?? "";
  const nodeId = /currentNodeId: (\S+)/.exec(brief)?.[1] ?? "";
  const isAnswered = texts.some((text) => text.startsWith("USER_INPUT"));
  const hasRead = body.messages.some(({ role }) => role === "tool");
  if (nodeId === "ask" && !hasRead) {
    return { calls: [call("fs_list", { path: "@pkg" }), call("fs_read", { path: "@pkg/bmad.json" })] };
  }
  if (nodeId === "ask" && !isAnswered) return { text: "Which colour?" };
  if (nodeId === "middle" && !isAnswered) return { refusal: REFUSAL };
  if (nodeId === "middle" && !hasRead) {
    return { calls: [call("fs_write", { path: "@project/artifacts/out.md", content: "blue\n" })] };
  }
  const next = { ask: "middle", middle: "finish" }[nodeId];
  const move = next === undefined ? {} : { currentNodeId: { set: next } };
  return { calls: [patch({ stepsCompleted: { append: [nodeId] }, ...move })] };
}

async function settingsFile(settings: object): Promise<string> {
  const dir = await temporaryDirectory();
  const path = join(dir, "settings.json");
  await writeFile(path, JSON.stringify(settings));
  return path;
}

const NAMES = Object.keys(PROVIDERS) as readonly (keyof typeof PROVIDERS)[];

describe.each(NAMES)("a server of the family %s", (name) => {
  test.each([false, true])(
    "walks a package with parallel calls, a question and a refusal, streamed: %s",
    async (stream) => {
      const provider = await startProvider(PROVIDERS[name], answerTo);
      const agents = {
        author: { maxTokens: 500, baseUrl: provider.baseUrl, dialect: name, apiKeyVariable: "KEY" },
      };
      const bench = await openBench([], {
        OPENAI_BASE_URL: provider.baseUrl,
        INTERLOCK_MODEL_STREAM: String(stream),
        INTERLOCK_SETTINGS: await settingsFile({ dialect: name, agents }),
        OPENAI_API_KEY: "key-of-the-test",
        KEY: "key-of-the-test",
      });
      const run = await bench.start(twoNodePackage());
      const asking = await until(run, "waiting-user");
      expect(asking.question).toEqual({ nodeId: "ask", text: "Which colour?" });
      await run.answer({ nodeId: "ask", text: "Blue." });
      await run.state();
      let refused = await until(run, "waiting-user");
      while (refused.question?.nodeId !== "middle") refused = await until(run, "waiting-user");
      const { code, text } = refused.question;
      expect([undefined, "LLM_REFUSED", "LLM_CONTENT_FILTERED"]).toContain(code);
      // Gemini says that it has filtered, and nothing more.
      expect(text).toContain(name === "gemini" ? "The provider gave no reason." : REFUSAL);
      expect(text).not.toMatch(/Shall I|Hm|think/u);
      await run.answer({ nodeId: "middle", text: "Write it down." });
      expect(await run.result()).toMatchObject({
        phase: "completed",
        stepsCompleted: ["ask", "middle", "finish"],
        artifacts: ["artifacts/out.md"],
      });
      expect(provider.refused).toEqual([]);
      const { usage } = await run.state();
      expect(usage.promptTokens).toBeGreaterThan(0);
      expect(usage.estimated ?? false).toBe(stream && PROVIDERS[name].usage === "never");
      const [first, second] = provider.asked.map(({ body }) => body);
      expect(first?.["stream"]).toBe(stream);
      const results = second?.messages.filter(({ role }) => role === "tool");
      const calls = second?.messages.flatMap(
        ({ tool_calls: made }) => (made as { id: string }[] | undefined) ?? [],
      );
      expect(results?.map(({ tool_call_id: id }) => id)).toEqual(calls?.map(({ id }) => id));
      expect(results).toHaveLength(2);
    },
  );
});

describe.each(NAMES.filter((name) => name !== "azure"))(
  "a server like %s at an address that tells nothing",
  (name) => {
    test.each([false, true])(
      "is learned from what it refuses, once for each form, streamed: %s",
      async (stream) => {
        const provider = await startProvider(PROVIDERS[name], answerTo);
        const agents = { author: { maxTokens: 500, baseUrl: provider.baseUrl } };
        const bench = await openBench([], {
          OPENAI_BASE_URL: provider.baseUrl,
          INTERLOCK_MODEL_STREAM: String(stream),
          INTERLOCK_SETTINGS: await settingsFile({ agents }),
        });
        const run = await bench.start(twoNodePackage());
        await until(run, "waiting-user");
        await run.answer({ nodeId: "ask", text: "Blue." });
        let refused = await until(run, "waiting-user");
        while (refused.question?.nodeId !== "middle") refused = await until(run, "waiting-user");
        await run.answer({ nodeId: "middle", text: "Write it down." });
        expect(await run.result()).toMatchObject({ phase: "completed", artifacts: ["artifacts/out.md"] });
        expect(new Set(provider.refused.map((body) => JSON.stringify(body))).size).toBe(
          provider.refused.length,
        );
        expect(provider.refused.length).toBeLessThanOrEqual(4);
      },
    );
  },
);
