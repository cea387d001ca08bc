import { printable, printableLines } from "../../core/printable.js";
import { mostCellWidth } from "../terminal/cell-width.js";
import { type Standing, progressWords, waitingLines } from "../report/waiting-words.js";

/** A line that is taken back when it changes: it must fit into one of the terminal's. */
export interface BlockLine {
  readonly text: string;
  readonly isFaint: boolean;
}

/** So many lines of an answer that is being given are shown, its last ones. */
const MAX_ANSWER_LINES = 8;
/** A sentence about what went wrong may need several. */
const MAX_FOLDED = 4;

/** What stands at the end of a terminal: the run, what it waits for, and the answer that is coming. Pure. */
export function blockOf(
  run: readonly string[],
  standing: Standing | undefined,
  room: { readonly columns: number; readonly rows: number },
): readonly BlockLine[] {
  const columns = Math.max(20, room.columns - 1);
  const plain = (text: string): BlockLine => ({ text, isFaint: false });
  const block = run.map((line) => plain(foldLine(printable(line), columns)[0] ?? ""));
  if (standing !== undefined) {
    for (const line of waitingLines(standing)) {
      const folded = foldLine(printable(line), columns - WAITING.length);
      block.push(...folded.slice(0, MAX_FOLDED).map((part) => plain(`${WAITING}${part}`)));
    }
    block.push(...answerLines(standing, columns));
  }
  return block.slice(-Math.max(1, room.rows - 1));
}

const WAITING = "    ";

function answerLines({ answer, work }: Standing, columns: number): readonly BlockLine[] {
  const isComing = work.activities.some(({ standing }) => standing === "running");
  if (answer === undefined || !isComing) return [];
  const text = answer.shown.trim() === "" ? [] : printableLines(answer.shown.trimEnd());
  const folded = text.flatMap((line) => foldLine(line, columns - ANSWER.length)).slice(-MAX_ANSWER_LINES);
  const lines = folded.map((line) => ({ text: `${ANSWER}${line}`, isFaint: false }));
  const progress = foldLine(printable(progressWords(answer)), columns - ANSWER.length)[0] ?? "";
  return progress === "" ? lines : [...lines, { text: `${ANSWER}${progress}`, isFaint: true }];
}

const ANSWER = "  │ ";

export function isSame(block: readonly BlockLine[], other: readonly BlockLine[]): boolean {
  return (
    block.length === other.length &&
    block.every(({ text, isFaint }, at) => text === other[at]?.text && isFaint === other[at].isFaint)
  );
}

/** A printable line in pieces that a terminal shows on one line each; an empty one is one empty piece. */
export function foldLine(line: string, columns: number): readonly string[] {
  const pieces: string[] = [];
  let piece = "";
  let width = 0;
  for (const char of line) {
    const wide = mostCellWidth(char);
    if (width + wide > columns && piece !== "") {
      pieces.push(piece);
      piece = "";
      width = 0;
    }
    piece += char;
    width += wide;
  }
  return [...pieces, piece];
}
