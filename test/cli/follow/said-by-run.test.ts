import { type Client, ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import type { RunHandle } from "../../../src/client/run-handle.js";
import type { RunState } from "../../../src/core/run/run-state.js";
import { saidByRun } from "../../../src/cli/follow/said-by-run.js";

test("a run says which one below asks, now and not as it was, and nothing while that one does not answer", async () => {
  const question = { nodeId: "draft", text: "Which colour?" };
  let answers = () => Promise.resolve({ phase: "waiting-user", question } as unknown as RunState);
  const lower = { runId: "2", state: () => answers() } as unknown as RunHandle;
  const run = {
    state: () => Promise.resolve({ below: { runId: "2", workflowRef: "part" } }),
    below: () => lower,
  } as unknown as RunHandle;
  const temporal = { withAbortSignal: (_: AbortSignal, ask: () => unknown) => ask() } as unknown as Client;
  const said = saidByRun(temporal, run);
  const ask = () => said(new AbortController().signal);
  const asked = expect.stringMatching(/^Run 2 of part, below it, asks at draft: Which colour\?/) as unknown;
  await expect(ask()).resolves.toEqual({ asked });
  answers = () => Promise.reject(new ServiceError("no worker answers"));
  await expect(ask()).rejects.toThrow("does not answer");
  answers = () => Promise.resolve({ phase: "running" } as RunState);
  await expect(ask()).resolves.toEqual({});
});
