import { beforeEach, afterEach, expect, test, vi } from "vitest";
import { Silence } from "../../../src/client/temporal/silence.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that is asked something, and whether it answers; what was said of it. */
function world() {
  const server = { isThere: true, isWaiting: true, looks: 0 };
  const said: boolean[] = [];
  const silence = new Silence({
    look: () => {
      server.looks += 1;
      return Promise.resolve(server.isThere);
    },
    isWaiting: () => server.isWaiting,
    onChange: (isSilent) => said.push(isSilent),
  });
  return { server, said, silence };
}

test("a server that answers nothing is looked for twice before it is said to be silent, and then until it answers", async () => {
  const { server, said, silence } = world();
  silence.asked();
  await vi.advanceTimersByTimeAsync(9_000);
  expect(server.looks).toBe(0);
  server.isThere = false;
  await vi.advanceTimersByTimeAsync(2_000);
  expect([server.looks, said]).toEqual([3, [true]]);
  await vi.advanceTimersByTimeAsync(60_000);
  server.isThere = true;
  server.isWaiting = false;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(said).toEqual([true, false]);
  const { looks } = server;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.looks).toBe(looks);
});

test("a server that is at something for long is asked whether it is there, as long as that is waited for", async () => {
  const { server, said, silence } = world();
  silence.asked();
  await vi.advanceTimersByTimeAsync(25_000);
  expect(server.looks).toBe(2);
  server.isWaiting = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([server.looks, said]).toEqual([3, []]);
});

test("a server that answers is not looked for, and neither is one that nothing is waited for from", async () => {
  const { server, said, silence } = world();
  silence.asked();
  for (let seconds = 0; seconds < 60; seconds += 5) {
    await vi.advanceTimersByTimeAsync(5_000);
    silence.heard(true);
  }
  server.isWaiting = false;
  silence.heard(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([server.looks, said]).toEqual([0, []]);
});

test("who was busy for so long says nothing of a server that answers at the second look", async () => {
  const { server, said, silence } = world();
  server.isThere = false;
  silence.asked();
  vi.advanceTimersByTime(10_000); // the first look has begun
  server.isThere = true;
  await vi.advanceTimersByTimeAsync(1_000);
  expect([server.looks, said]).toEqual([2, []]);
});

test("a server that answers others while the looks at it go by is busy, and not silent", async () => {
  const { server, said, silence } = world();
  server.isThere = false;
  silence.asked();
  await vi.advanceTimersByTimeAsync(9_999);
  vi.advanceTimersByTime(1); // the first look has begun
  silence.heard(true);
  await vi.advanceTimersByTimeAsync(0);
  expect([server.looks, said]).toEqual([1, []]);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(said).toEqual([true]);
});

test("a request that could not be sent while the looks go by is no answer", async () => {
  const { server, said, silence } = world();
  server.isThere = false;
  silence.asked();
  vi.advanceTimersByTime(10_000);
  silence.heard(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(said).toEqual([true]);
});

test("whoever has ended it hears nothing any more", async () => {
  const { server, said, silence } = world();
  server.isThere = false;
  silence.asked();
  vi.advanceTimersByTime(10_000);
  silence.end();
  silence.asked();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([server.looks, said]).toEqual([1, []]);
});
