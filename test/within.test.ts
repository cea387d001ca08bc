import { expect, test } from "vitest";
import { afterWaiting } from "../src/within.js";

const SHORT_MS = 30;

/** Does what keeps a process from everything else for so long. */
const beBusy = (milliseconds: number) =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
/** What was due meanwhile has been done. */
const turn = () => new Promise((resolve) => setTimeout(resolve));

test("what a process was busy with itself is not taken for waiting: it is told of a silence after the whole time of one", async () => {
  const calls: string[] = [];
  const heard = new Promise<void>((resolve) => {
    afterWaiting(SHORT_MS, () => {
      calls.push("silence");
      resolve();
    });
  });
  beBusy(2 * SHORT_MS);
  await turn();
  expect(calls).toEqual([]);
  await heard;
  expect(calls).toEqual(["silence"]);
});

test("a silence that was called off is told to nobody, also where it was looked for already", async () => {
  const calls: string[] = [];
  const callOff = afterWaiting(SHORT_MS, () => calls.push("silence"));
  beBusy(2 * SHORT_MS);
  await turn();
  callOff();
  await new Promise<void>((resolve) => void afterWaiting(2 * SHORT_MS, resolve));
  expect(calls).toEqual([]);
});
