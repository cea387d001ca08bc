/** What a text leaves out of what it says: comments, what is struck through, and what is to be written elsewhere. It stays in the package. */

interface TextLine {
  readonly text: string;
  readonly isCode: boolean;
}

const OPENS_COMMENT = /^\s{0,12}(?:-\s{1,4})?<!--/;
const STRUCK = /~~(?=\S)[^~]{1,400}~~/g;
/** "Add the routing to `workflow.md`:", and a list of what stands there then. */
const WRITES =
  /^[-*\s\d.)]{0,8}(?:add|append|write|insert|put|include)\b[^.:;]{0,80}\b(?:to|in|into)\s[`*"']{0,3}[\w./{}-]{1,80}\.md[`*"']{0,3}:[*\s]{0,4}$/i;
const ITEM = /^\s{0,12}(?:-|\d{1,2}[.)])\s/;
/** A comment that is longer is not closed. */
const MAX_COMMENT_LINES = 200;

/** The lines with blanks in the place of what they do not say, so that the rest stands where it stood. */
export function withoutUnsaid<Line extends TextLine>(lines: readonly Line[]): readonly Line[] {
  const said = [...lines];
  let close = -1;
  for (let at = 0; at < said.length; at++) {
    const line = said[at];
    if (line === undefined || line.isCode) continue;
    const isOpened = OPENS_COMMENT.test(line.text);
    if (isOpened && close < at) close = nextClose(lines, at);
    const last = isOpened && close - at < MAX_COMMENT_LINES ? close : at;
    for (const [index, each] of said.slice(at, last + 1).entries())
      said[at + index] = {
        ...each,
        text: last > at ? saidOf(each.text, index === last - at) : saidIn(each.text),
      };
    at = last;
  }
  return withoutWritten(said);
}

/** The lines with blanks in the place of the items that another file is to hold; below an item these are deeper ones. */
function withoutWritten<Line extends TextLine>(lines: readonly Line[]): readonly Line[] {
  let above: number | undefined;
  return lines.map((line) => {
    const depth = ITEM.test(line.text) ? line.text.search(/\S/) : undefined;
    if (WRITES.test(line.text.slice(0, 400))) above = line.isCode ? undefined : (depth ?? -1);
    else if (above !== undefined && depth !== undefined && depth > above) return { ...line, text: "" };
    else if (line.text.trim() !== "") above = undefined;
    return line;
  });
}

/** The line that the next comment ends in, looked for once for all that begin before it; none is infinitely far. */
function nextClose(lines: readonly TextLine[], from: number): number {
  for (let at = from; at < lines.length; at++) if (lines[at]?.text.includes("-->") === true) return at;
  return Number.POSITIVE_INFINITY;
}

/** Of a line of a comment what stands behind the comment's end. */
function saidOf(text: string, isLast: boolean): string {
  const end = isLast ? text.indexOf("-->") + 3 : text.length;
  return " ".repeat(end) + saidIn(text.slice(end));
}

function saidIn(text: string): string {
  return withoutComments(text).replaceAll(STRUCK, (whole) => " ".repeat(whole.length));
}

/** Looked for by hand: a form would look at the whole line again behind each beginning that nothing closes. */
function withoutComments(text: string): string {
  let said = "";
  let from = 0;
  for (;;) {
    const begin = text.indexOf("<!--", from);
    const end = begin === -1 ? -1 : text.indexOf("-->", begin + 4);
    if (end === -1) return said + text.slice(from);
    said += text.slice(from, begin) + " ".repeat(end + 3 - begin);
    from = end + 3;
  }
}
