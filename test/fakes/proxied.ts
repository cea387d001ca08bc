import { type Agent, type AgentOptions, globalAgent } from "node:http";
import { onTestFinished, vi } from "vitest";

/** Modules loaded from now on have agents that go to another address than the URL says, as Node 24's go to the environment's proxy. */
export function goThrough(proxy: AgentOptions): void {
  const { options } = globalAgent as Agent & { options: AgentOptions };
  const before = { ...options };
  Object.assign(options, proxy);
  onTestFinished(() => {
    for (const key of Object.keys(options)) Reflect.deleteProperty(options, key);
    Object.assign(options, before);
    vi.resetModules();
  });
  vi.resetModules();
}
