import type { RunHandle } from "../../src/client/client.js";

/** Raises the budget of a run twice and pauses it, all at once, and so again and again. */
export async function tellSideBySide(run: RunHandle, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await Promise.all([
      run.raiseBudget({ add: { turns: 1 } }),
      run.pause().then(() => run.resume()),
      run.raiseBudget({ add: { turns: 1 } }),
    ]);
  }
}
