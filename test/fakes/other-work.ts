import { vi } from "vitest";

/**
 * How often the event loop came round while `work` went on. The clock moves by a millisecond with each look at
 * it, so that the number tells how often the work looks and pauses, not how fast the machine is.
 */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
  let turns = 0;
  let isOver = false;
  const beat = (): void => {
    turns += 1;
    if (!isOver) setImmediate(beat);
  };
  setImmediate(beat);
  try {
    await work();
  } finally {
    isOver = true;
    clock.mockRestore();
  }
  return turns;
}
