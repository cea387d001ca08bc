import { printable } from "./printable.js";

/** Control characters and whatever some reader takes for the end of a line. */
const LINE_BREAKERS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/** A text from outside on one line: it can neither add lines to a shell nor move a terminal's cursor. */
export function oneLine(text: string): string {
  return text.replace(LINE_BREAKERS, " ").trim();
}

/** A text cut to a bound, with `…` where it was cut; halves of surrogate pairs are replaced. */
export function cutText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text.toWellFormed() : `${text.slice(0, maxChars).toWellFormed()}…`;
}

/** A text from outside as a message shows it: on one line, printable and of bounded length. */
export function excerpt(text: string, maxChars = 120): string {
  return cutText(printable(oneLine(text.slice(0, 2 * maxChars).toWellFormed())), maxChars);
}

/** A text as a sentence's end: with a full stop, unless it is a sentence already. */
export function ended(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** What the system says of a file, without its path where that lies in a folder that the sentence before it names. */
export function withoutPath(message: string, folder: string): string {
  const place = /, [a-z]{2,12} '/.exec(message);
  if (place === null) return message;
  return message.startsWith(folder, place.index + place[0].length) ? message.slice(0, place.index) : message;
}

/** The first few of a list of names, and how many more there are. */
export function listSome(names: readonly string[], count = 20): string {
  const shown = names.slice(0, count).map((name) => excerpt(name));
  if (names.length > count) shown.push(`and ${names.length - count} more`);
  return shown.join(", ");
}

/** The start of a text that has at most so many bytes in UTF-8, cut between characters. */
export function cutBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text.toWellFormed();
  let bytes = 0;
  let kept = "";
  for (const char of text.slice(0, maxBytes + 1).toWellFormed()) {
    bytes += utf8Length(char);
    if (bytes > maxBytes) return kept;
    kept += char;
  }
  return kept;
}

/** How many bytes a text has in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else bytes += code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

const MAX_WORD_CHARS = 400;

/**
 * A path as a word of a shell's command: a stranger may have chosen it, and somebody may paste the command. `otherwise` is what
 * stands there for one that is too long or not printable. One that begins like an option is none.
 */
export function shellWord(path: string, otherwise = "…"): string {
  return shellValue(path.startsWith("-") ? `./${path}` : path, otherwise);
}

/** The same for a name that is no path, such as a run's or its workflow's id. */
export function shellName(name: string): string {
  return name.startsWith("-") ? `-- ${shellValue(name)}` : shellValue(name);
}

/** The same for the value of an option, which may begin with anything. */
export function shellValue(text: string, otherwise = "…"): string {
  if (text.length > MAX_WORD_CHARS || text !== excerpt(text, MAX_WORD_CHARS)) return otherwise;
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** "1 run", "2 runs": of a noun whose plural takes an s. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
