import type { AgentOptions } from "node:http";
import { expect, test } from "vitest";
import { freePort } from "../fakes/free-port.js";
import { goThrough } from "../fakes/proxied.js";

async function failureThrough(proxy: AgentOptions): Promise<string> {
  goThrough(proxy);
  const { createChatModel } = await import("../../src/model/chat-model.js");
  const settings = { model: "m", baseUrl: "http://model.test/v1", stream: false, timeoutMs: 10_000 };
  const { signal } = new AbortController();
  return createChatModel()
    .complete({ settings, messages: [], tools: [], signal })
    .then(
      () => "It was answered.",
      (error: Error) => error.message,
    );
}

test("a proxy that is dead is told as the proxy, and not as the endpoint", async () => {
  expect(await failureThrough({ host: "127.0.0.1", port: await freePort() })).toBe(
    "The model endpoint http://model.test/v1/chat/completions cannot be reached: the environment's proxy cannot be reached: nothing listens there (ERR_PROXY_ECONNREFUSED).",
  );
});

test("a proxy whose name is not known is told as the proxy", async () => {
  const unknown = Object.assign(new Error("not found"), { code: "ENOTFOUND", hostname: "proxy.test" });
  const message = await failureThrough({
    host: "proxy.test",
    lookup: (_, _options, found) => found(unknown, ""),
  });
  expect(message).toContain("the environment's proxy cannot be reached: its name is not known");
});
