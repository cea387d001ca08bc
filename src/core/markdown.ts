import { printable, printableLines } from "./printable.js";
import { cutText } from "./text.js";

/** Names and texts in Markdown: as code, in which no link, image or HTML is live, whatever they hold. */

/** What can stand as it is: nothing in it begins code, a link, an image, HTML or an address that becomes a link. */
const HARMLESS = /^(?:(?!:\/\/|www\.|mailto:|xmpp:|\S@)[\p{L}\p{M}\p{N} .,:;=@/{}()+·→…'"_-])*$/iu;

/**
 * What the timeline and lists show of a thing: a line of Markdown in which nothing is live, the text as it is where that is harmless, else
 * as code. Temporal takes 400 bytes; this has fewer, since each character has up to three, and those that make a fence longer have one.
 */
export function summaryLine(text: string): string {
  const line = cutText(printable(text), MAX_SUMMARY_CHARS);
  return HARMLESS.test(line) ? line : codeOf(line);
}

const MAX_SUMMARY_CHARS = 120;

/** A text as code within a line. */
export function codeSpan(text: string, maxChars = 200): string {
  return codeOf(cutText(printable(text), maxChars));
}

/**
 * A text as code in a cell of a table. A bar ends a cell, and with it the code, wherever it stands; which backslashes save it is read
 * differently by different readers, so that there is none.
 */
export function codeCell(text: string, maxChars: number): string {
  return codeSpan(cutText(text, maxChars).replaceAll("|", String.raw`\u{7c}`), 2 * maxChars);
}

/** A text of several lines as a block of code: its fence is longer than any run of backticks in it. */
export function codeBlock(text: string, maxChars = 8_000): readonly string[] {
  const lines = cutText(printableLines(text).join("\n"), maxChars).split("\n");
  const fence = "`".repeat(Math.max(3, longestRun(lines.join("\n")) + 1));
  return [`${fence}text`, ...lines, fence];
}

/** What would be fetched or run where Markdown is shown: the beginnings of images and of HTML, with all the backslashes before them. */
const ACTS = /(?<!\\)(\\*)(!(?=\[)|<(?=[a-z/!?]))/gi;
const OPENING = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;
const CLOSING = /^ {0,3}(`{3,}|~{3,}) *$/;

/**
 * Markdown of others, printable, in which nothing acts by itself: images and HTML are text, links are left to who reads them. A block of code
 * stays as it is where it is one for certain: its fence stands at the very beginning of a line, and none before it stood elsewhere, as in
 * a list, where it depends on the lines around it whether the next one begins or ends a block.
 */
export function inertMarkdown(text: string): string {
  let fence: string | undefined;
  let isCertain = true;
  const inert = printableLines(text).map((line) => {
    if (fence !== undefined) {
      if (CLOSING.exec(line)?.[1]?.startsWith(fence) === true) fence = undefined;
      return line;
    }
    const [, backticks, tildes] = (isCertain && OPENING.exec(line)) || [];
    fence = backticks ?? tildes;
    if (fence !== undefined) return line;
    isCertain &&= !/`{3}|~{3}/.test(line);
    return line.replace(ACTS, escaped);
  });
  return inert.join("\n");
}

/** One more backslash, where those that stand there do not escape it already. */
function escaped(_: string, backslashes: string, begins: string): string {
  return backslashes.length % 2 === 0 ? `${backslashes}\\${begins}` : `${backslashes}${begins}`;
}

function codeOf(line: string): string {
  if (line === "") return "";
  const fence = "`".repeat(longestRun(line) + 1);
  return fence.length === 1 && line.trim() === line ? `\`${line}\`` : `${fence} ${line} ${fence}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const run of text.match(/`+/g) ?? []) longest = Math.max(longest, run.length);
  return longest;
}
