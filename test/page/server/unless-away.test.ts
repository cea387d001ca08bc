import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { unlessAway } from "../../../src/page/server/unless-away.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => undefined);
const REFUSAL = { status: 503, code: "NO_TEMPORAL", message: "Temporal does not answer. It is asked again." };

/** What comes of an answer, or why none does. */
const outcome = (away: AbortSignal, answer: Promise<unknown>) =>
  unlessAway(away, answer).catch((error: unknown) => error);

test("what waits for a Temporal is refused when that is known to be away, and what is asked meanwhile soon after", async () => {
  const away = new AbortController();
  const waiting = outcome(away.signal, never);
  away.abort();
  expect(await waiting).toMatchObject(REFUSAL);
  const later = outcome(away.signal, never);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await later).toMatchObject(REFUSAL);
});

test("what needs no Temporal is answered while it is away, and what fails after all fails for nobody", async () => {
  expect(await outcome(AbortSignal.abort(), Promise.resolve("here"))).toBe("here");
  expect(vi.getTimerCount()).toBe(0);
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("after all")), 5_000));
  const refused = outcome(AbortSignal.abort(), late);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await refused).toMatchObject(REFUSAL);
});
