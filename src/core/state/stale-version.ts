import { fail } from "../errors.js";

/** What a change is refused with that was made for another version of the state document than there is. */
export const STALE_VERSION = fail(
  "E_PRECONDITION_FAILED",
  "@state/workflow.md is not at the version of ifMatchSha256. Read it again and repeat the change on what it says now.",
);
