import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { unlessAway } from "../../../src/page/server/unless-away.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => undefined);
const REFUSAL = { status: 503, code: "NO_TEMPORAL", message: "Temporal does not answer. It is asked again." };

test("what waits for a Temporal is refused when that is known to be away, and what is asked meanwhile soon after", async () => {
  const away = new AbortController();
  const waiting = expect(unlessAway(away.signal, never)).rejects.toMatchObject(REFUSAL);
  away.abort();
  await waiting;
  const later = expect(unlessAway(away.signal, never)).rejects.toMatchObject(REFUSAL);
  await vi.advanceTimersByTimeAsync(1_000);
  await later;
});

test("what needs no Temporal is answered while it is away, and what is answered leaves nothing behind", async () => {
  expect(await unlessAway(AbortSignal.abort(), Promise.resolve("here"))).toBe("here");
  expect(vi.getTimerCount()).toBe(0);
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("after all")), 5_000));
  const refused = expect(unlessAway(AbortSignal.abort(), late)).rejects.toMatchObject(REFUSAL);
  await vi.advanceTimersByTimeAsync(6_000);
  await refused;
});
