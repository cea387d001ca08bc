import type { Started } from "../api.js";
import { runHref } from "./routes.js";

/** Leads to the run that is being begun, unless somebody has gone elsewhere meanwhile. */
export async function leadToRun(begun: Promise<Started>): Promise<void> {
  const { hash } = location;
  const { runId } = await begun;
  if (location.hash === hash) location.hash = runHref(runId);
}
