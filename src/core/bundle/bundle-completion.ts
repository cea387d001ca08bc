import { listSome } from "../text.js";
import { DONE_LINE } from "./done-line.js";
import type { DeclaredOutput } from "./declared-outputs.js";

/** What a text answer without tool calls means for a bundle run. */
export type BundleVerdict =
  | { readonly kind: "complete" }
  /** The model asks or tells something: the run waits for the user. */
  | { readonly kind: "waiting" }
  /** The model says that it is done and is not: what to tell it. */
  | { readonly kind: "incomplete"; readonly correction: string; readonly missing: readonly string[] };

/** Whether a text's last line that is not empty says that the workflow is done. */
export function saysDone(text: string): boolean {
  return text.trimEnd().split("\n").at(-1)?.trim() === DONE_LINE;
}

/** Whether a text has that line in another spelling, or elsewhere: with marks around it, in small letters, with more behind it. */
export function soundsDone(text: string): boolean {
  return text.split("\n").some((line) => line.replace(MARKS, "").toUpperCase() === DONE_LINE);
}

/** What models put around a line; "Workflow complete?" asks. */
const MARKS = /^[^\p{L}]{1,20}|[^\p{L}?？]{1,20}$/gu;

/**
 * The completion rule (contracts §13): the model says that it is done, and everything the workflow declares was saved. A
 * name with placeholders is satisfied by any saved file; an exact one by its path or, wherever it was saved, its name; what is
 * optional need not be there. A file with nothing in it is none.
 */
export function judgeBundleAnswer(
  text: string,
  outputs: readonly DeclaredOutput[],
  saved: readonly { readonly path: string; readonly size: number }[],
): BundleVerdict {
  if (!saysDone(text)) return { kind: "waiting" };
  const savedPaths = saved.filter(({ size }) => size > 0).map(({ path }) => path);
  const lacking = outputs.filter((output) => output.isOptional !== true && !isSaved(output, savedPaths));
  if (lacking.length === 0) return { kind: "complete" };
  const missing = lacking.map(({ saveAs }) => saveAs);
  const files = listSome(missing.map((name) => `{session-folder}/${name}`));
  const isChoice = lacking.length > 1 && lacking.every(({ isExact }) => !isExact);
  const correction = `The workflow is not complete: ${isChoice ? `one at least of ${files}` : files} was not saved, or with nothing in it. Save it with save_output (fill in its placeholders), or tell the user why you cannot, without the line ${DONE_LINE}.`;
  return { kind: "incomplete", correction, missing };
}

function isSaved({ saveAs, isExact }: DeclaredOutput, savedPaths: readonly string[]): boolean {
  if (!isExact) return savedPaths.length > 0;
  const name = saveAs.split("/").at(-1);
  return savedPaths.some((path) => path === saveAs || path.split("/").at(-1) === name);
}
