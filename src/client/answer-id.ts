import { createHash } from "node:crypto";
import { ANSWER_PREVIEW_CHARS } from "../core/run/limits.js";
import { MAX_ID_CHARS } from "../core/run/run-updates.js";

/**
 * The id that Temporal knows an answer by. A run says of the answer it has taken how it begins: where two long ones begin alike, only
 * their ids can differ. An answer to no question in particular keeps its id: another one might take what it says otherwise.
 */
export function updateIdOf(
  answerId: string | undefined,
  { text, question }: { readonly text: string; readonly question?: string | undefined },
): string | undefined {
  if (answerId === undefined || question === undefined || text.length <= ANSWER_PREVIEW_CHARS)
    return answerId;
  const whole = `${answerId}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
  return whole.length > MAX_ID_CHARS ? answerId : whole;
}
