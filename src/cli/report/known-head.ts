import type { RunHandle } from "../../client/client.js";
import { hasCode } from "../../client/temporal/interlock-error.js";
import type { AuditHead } from "../../core/run/audit-head.js";
import { printNote } from "../terminal/output.js";
import { unexpected } from "../session/unexpected.js";

/** The head of a run's audit log that Temporal holds; undefined where it says none or is not asked, and then a note says what cannot be seen. */
export async function knownHead(
  run: Pick<RunHandle, "auditHead"> | undefined,
): Promise<AuditHead | undefined> {
  const unseen = "whether the end of its audit log was cut off cannot be seen.";
  if (run === undefined) {
    printNote(`Without Temporal, ${unseen}`);
    return undefined;
  }
  try {
    return await run.auditHead();
  } catch (error) {
    const isUnknown = hasCode(error, "E_RUN_NOT_FOUND");
    const why = isUnknown
      ? "Temporal knows nothing of this run"
      : `What Temporal knows of this run cannot be read (${await unexpected(error)})`;
    printNote(`${why}: ${unseen}`);
    return undefined;
  }
}
