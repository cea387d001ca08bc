import { describe, expect, test } from "vitest";
import { startProvider } from "../fakes/provider-server.js";
import { REFUSAL, answerTo, settingsFile } from "../fakes/provider-walk.js";
import { PROVIDERS } from "../fakes/providers.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until } from "./harness.js";

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
