import type { Client } from "@temporalio/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { InterlockClient } from "../../../src/client/client.js";
import { remoteReader } from "../../../src/cli/session/remote-reader.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a store whose worker has taken a question and is silent is said to be waited for, once", async () => {
  const temporal = {
    activity: { start: () => Promise.resolve({ runId: "run", result: () => new Promise(() => undefined) }) },
    connection: {},
  };
  // all that is asked of it here
  const client = { temporal: temporal as unknown as Client, taskQueue: "office" } as InterlockClient;
  const said: string[] = [];
  const reader = remoteReader({ client, note: (line) => said.push(line) });
  void reader.ask("read.run", { run: "r" });
  void reader.ask("read.visits", { run: "r" });
  await vi.advanceTimersByTimeAsync(5_000); // until then it may be that nobody takes it
  expect(said).toEqual([]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(said).toEqual([expect.stringMatching(/"office".*does not answer yet/)]);
});
