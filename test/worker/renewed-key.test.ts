import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { renewKey } from "../../src/worker/renewed-key.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A connection that was made with this key, and the keys that it is told to show afterwards. */
function connected(shown: string | undefined, inFile: () => string) {
  const told: string[] = [];
  const connection = { setApiKey: async (key: string) => void told.push(key) };
  const temporal = { connectionOptions: { apiKey: "of-an-hour" }, namespace: "shop" };
  const stop = renewKey(connection, shown, { temporal, temporalKey: inFile });
  return { told, stop };
}

test("a worker shows Temporal the key that its file has now, told once, until it ends", () => {
  let inFile = "of-an-hour";
  const { told, stop } = connected("of-an-hour", () => inFile);
  vi.advanceTimersByTime(30_000);
  expect(told).toEqual([]);
  inFile = "of-the-next";
  vi.advanceTimersByTime(30_000);
  expect(told).toEqual(["of-the-next"]);
  stop();
  inFile = "of-a-third";
  vi.advanceTimersByTime(30_000);
  expect(told).toEqual(["of-the-next"]);
});

test("a key that a program has given a worker itself is not exchanged for the configured one", () => {
  const { told } = connected("the-program's", () => "of-the-next");
  vi.advanceTimersByTime(30_000);
  expect(told).toEqual([]);
});
