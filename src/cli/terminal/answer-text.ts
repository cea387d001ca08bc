import { createReadStream } from "node:fs";
import { hostname, userInfo } from "node:os";
import type { Readable } from "node:stream";
import { MAX_PERSON_CHARS, MAX_USER_INPUT_BYTES } from "../../core/run/limits.js";
import { isPrintable, printable } from "../../core/printable.js";
import { cutText } from "../../core/text.js";
import { writtenText } from "../../core/written-text.js";
import { UsageError, printNote } from "./output.js";
import { wordsOf } from "../../core/system-code.js";

/** Where an answer's text comes from. Exactly one of them; none means the user's editor. */
export interface AnswerChoice {
  /** As it stands on the command line; `-` means standard input. */
  readonly text?: string | undefined;
  /** Path of a file that holds it. */
  readonly file?: string | undefined;
}

/**
 * The text of an answer that is not written in an editor; undefined where it is to be. Line breaks at its end are no part of it.
 * Throws `UsageError` for an empty one, for more than a run takes, and for what is no UTF-8 text.
 */
export async function answerText({ text, file }: AnswerChoice): Promise<string | undefined> {
  if (text !== undefined && file !== undefined) {
    throw new UsageError("The answer is given twice: as a text, and with --file. Leave one of them out.");
  }
  if (file !== undefined) return checkedText(await readAll(createReadStream(file), `The file ${file}`));
  if (text !== "-") return text === undefined ? undefined : checkedText(text);
  if (process.stdin.isTTY) printNote("Write the answer; Ctrl-D on a line of its own ends it.");
  return checkedText(await readAll(process.stdin, "Standard input"));
}

/** The text as it is sent. Throws `UsageError` for one that says nothing. */
export function checkedText(text: string): string {
  if (text.trim() === "") throw new UsageError("The answer is empty.");
  const sent = text.replace(/[\r\n]+$/, "");
  if (Buffer.byteLength(sent, "utf8") > MAX_USER_INPUT_BYTES) throw tooLong("The answer");
  return sent;
}

async function readAll(stream: Readable, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      const piece = Buffer.from(chunk as Uint8Array); // no encoding is set
      bytes += piece.length;
      // A line break at the end is not sent.
      if (bytes > MAX_USER_INPUT_BYTES + 2) throw tooLong(what);
      chunks.push(piece);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = wordsOf(error);
    throw new UsageError(`${what} cannot be read: ${reason}`, { cause: error });
  }
  const written = writtenText(Buffer.concat(chunks));
  if ("problem" in written) throw new UsageError(`${what} ${written.problem}.`);
  return written.text.replace(/\r?\n$/, "");
}

/** `what` is what was to be an answer. */
export function tooLong(what: string): UsageError {
  return new UsageError(
    `${what} has more than the ${MAX_USER_INPUT_BYTES} bytes that an answer may have. Put longer texts into a project file.`,
  );
}

/** Who answers: as it was said with `--as`, else user and host of this process. Throws `UsageError` for what is no name. */
export function answeredBy(as: string | undefined): string {
  if (as === undefined) return cutText(printable(`${userName()}@${hostname()}`).trim(), MAX_PERSON_CHARS);
  const name = as.trim();
  if (name === "" || name.length > MAX_PERSON_CHARS || !isPrintable(name)) {
    throw new UsageError(`--as is a name of at most ${MAX_PERSON_CHARS} printable characters on one line.`);
  }
  return name;
}

/** A process may run under a number that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
