import type { RunHandle } from "../../src/client/client.js";
import type { Script } from "./scripted-model.js";
import { straightOn } from "./walk.js";

/** A model that asks its user once, and then goes straight on. */
export function asksAndGoesOn(): Script {
  let isAsked = false;
  return (request) => {
    if (isAsked) return straightOn(request);
    isAsked = true;
    return { content: "Blue, or red?" };
  };
}

/** Tells a run something until it has continued as new so often. Throws where it does not in so many words as should do. */
export async function toldUntil(run: RunHandle, times: number, tell: () => Promise<unknown>): Promise<void> {
  const seen = new Set([await run.executionRunId()]);
  for (let words = 0; words < 150 * times; words += 1) {
    await tell();
    if (seen.add(await run.executionRunId()).size > times) return;
  }
  throw new Error(`It has not continued as new ${times} times.`);
}
