import { createHash } from "node:crypto";
import type { Answer, AnswerTaken } from "../../contract/run.js";
import { ANSWER_PREVIEW_CHARS, MAX_ID_CHARS } from "../../core/run/limits.js";
import { cutText, excerpt } from "../../core/text.js";

/**
 * The id that Temporal knows an answer by. A run says of the answer it has taken how it begins: where two long ones begin alike, only
 * their ids can differ. An answer to no question in particular keeps its id: another one might take what it says otherwise.
 */
export function updateIdOf(
  answerId: string | undefined,
  { text, question }: { readonly text: string; readonly question?: string | undefined },
): string | undefined {
  const isText = typeof (text as unknown) === "string"; // what is none is for the run to refuse
  if (answerId === undefined || question === undefined || !isText || text.length <= ANSWER_PREVIEW_CHARS)
    return answerId;
  const whole = `${answerId}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
  return whole.length > MAX_ID_CHARS ? answerId : whole;
}

/** Why an answer is not the one that its run has taken under its id, in a sentence; undefined where it is. */
export function whyNotTaken(
  { nodeId, text, question, by }: Answer,
  taken: AnswerTaken,
  answerId: string | undefined,
): string | undefined {
  if (taken.begins === undefined) return undefined; // taken by a worker of an earlier version
  const isAlike = taken.nodeId === nodeId && taken.begins === cutText(text, ANSWER_PREVIEW_CHARS);
  // Whoever says the same has not been heard: what is kept is who was first.
  if (isAlike && (taken.by === undefined || taken.by === by)) return undefined;
  const whose = taken.by === undefined ? "" : `, that of ${taken.by}`;
  return taken.nodeId === nodeId && question !== undefined
    ? `The question ${question} has another answer already${whose}: this one was not taken.`
    : `The id "${excerpt(answerId ?? "")}" is that of an earlier answer, at ${taken.nodeId}${whose}: this one was not taken. Give it another id.`;
}
