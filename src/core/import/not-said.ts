/** What a text leaves out of what it says: comments, and what is struck through. It stays in the package. */

interface TextLine {
  readonly text: string;
  readonly isCode: boolean;
}

const OPENS_COMMENT = /^\s{0,12}(?:[-*+•]\s{1,4})?<!--/;
const IN_LINE = /<!--.{0,2000}?-->|~~(?=\S)[^~]{1,400}~~/g;
/** A comment that is longer is not closed. */
const MAX_COMMENT_LINES = 200;

/** The lines with blanks in the place of what they do not say, so that the rest stands where it stood. */
export function withoutUnsaid<Line extends TextLine>(lines: readonly Line[]): readonly Line[] {
  const said = [...lines];
  for (let at = 0; at < said.length; at++) {
    const line = said[at];
    if (line === undefined || line.isCode) continue;
    const last = OPENS_COMMENT.test(line.text) ? endOfComment(lines, at) : at;
    for (const [index, each] of said.slice(at, last + 1).entries())
      said[at + index] = {
        ...each,
        text: last > at ? saidOf(each.text, index === last - at) : saidIn(each.text),
      };
    at = last;
  }
  return said;
}

function endOfComment(lines: readonly TextLine[], from: number): number {
  const rest = lines.slice(from, from + MAX_COMMENT_LINES);
  const after = rest.findIndex(({ text }) => text.includes("-->"));
  return after === -1 ? from : from + after;
}

/** Of a line of a comment what stands behind the comment's end. */
function saidOf(text: string, isLast: boolean): string {
  const end = isLast ? text.indexOf("-->") + 3 : text.length;
  return " ".repeat(end) + saidIn(text.slice(end));
}

function saidIn(text: string): string {
  return text.replaceAll(IN_LINE, (whole) => " ".repeat(whole.length));
}
