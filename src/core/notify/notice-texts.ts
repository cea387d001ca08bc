import { printableLines } from "../printable.js";
import { redactAbsolutePaths, redactSecrets } from "../prompt/redact.js";
import { cutText, excerpt } from "../text.js";

/** What of a question's text is told. The rest is where it is answered. */
const MAX_QUESTION_CHARS = 2_000;
const MAX_LINE_CHARS = 300;
const MAX_LOOKED_AT = 20_000;

/** A text of a model or a package on several lines, as it may leave the machine: printable, without secrets and paths, bounded. */
export function noticeText(text: string): string {
  const clean = redactAbsolutePaths(redactSecrets(text.slice(0, MAX_LOOKED_AT).toWellFormed()));
  return cutText(printableLines(clean).join("\n"), MAX_QUESTION_CHARS);
}

/** The same on one line. */
export function noticeLine(text: string): string {
  const clean = redactAbsolutePaths(redactSecrets(text.slice(0, MAX_LOOKED_AT).toWellFormed()));
  return excerpt(clean, MAX_LINE_CHARS);
}
