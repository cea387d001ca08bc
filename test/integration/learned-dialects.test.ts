import { describe, expect, test } from "vitest";
import { startProvider } from "../fakes/provider-server.js";
import { answerTo, settingsFile } from "../fakes/provider-walk.js";
import { PROVIDERS } from "../fakes/providers.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until } from "./harness.js";

const NAMES = Object.keys(PROVIDERS) as readonly (keyof typeof PROVIDERS)[];

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
