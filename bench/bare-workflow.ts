import { proxyActivities, proxyLocalActivities } from "@temporalio/workflow";
import type { BareActivities } from "./bare-worker.js";

const regular = proxyActivities<BareActivities>({ startToCloseTimeout: "10 seconds" });
const local = proxyLocalActivities<BareActivities>({ startToCloseTimeout: "10 seconds" });

/** Activities that do nothing, one after the other: `R` is a regular one, `L` a local one. */
export async function bareWalk(sequence: string): Promise<void> {
  for (const kind of sequence) await (kind === "R" ? regular : local).nothing();
}
