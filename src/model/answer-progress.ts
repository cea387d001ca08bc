import { textOf } from "../core/json.js";
import { isSecretInTexts, redactKey } from "../core/prompt/redact-key.js";
import { CLOSING_TAGS, LONGEST_TAG, OPENING_TAGS, indexOfTag } from "../core/prompt/visible-text.js";
import type { AnswerPiece } from "../core/run/answer-piece.js";
import { utf8Length } from "../core/text.js";
import { type Fields, fieldsOf } from "../http/answer-json.js";

/** Hears what comes of an answer, piece by piece, while it is given. It must not throw. */
export type OnPiece = (piece: AnswerPiece) => void;

/** Tells what the pieces of a stream mean to somebody who watches: text as it is, thoughts and arguments as counts. */
export class AnswerProgress {
  private readonly tell: OnPiece;
  private readonly text: VisibleStream;
  private readonly apiKey: string;
  private readonly calls = new Map<object, { readonly index: number; bytes: number }>();

  constructor(tell: OnPiece, apiKey = "") {
    this.tell = tell;
    this.apiKey = apiKey;
    this.text = new VisibleStream(tell, new KeyGuard(apiKey));
  }

  /** One delta of a stream. */
  delta(delta: Fields): void {
    const { content } = delta;
    const thought = THOUGHTS.map((name) => lengthIn(delta[name])).find((length) => length > 0);
    if (thought !== undefined) this.tell({ type: "thinking", characters: thought });
    for (const part of Array.isArray(content) ? (content as readonly unknown[]) : [content]) {
      const text = textOfPart(part);
      if (text === undefined) this.tell({ type: "thinking", characters: lengthIn(part) });
      else this.text.add(text);
    }
  }

  /** A piece of a call that has grown into `call`. */
  call(call: Fields, piece: unknown): void {
    const known = this.calls.get(call) ?? { index: this.calls.size, bytes: 0 };
    this.calls.set(call, known);
    const body = fieldsOf(fieldsOf(piece)?.["function"]);
    known.bytes += utf8Length(textOf(body?.["arguments"]));
    const name = textOf(fieldsOf(call["function"])?.["name"]).slice(0, MAX_CALLED_NAME_CHARS);
    this.tell({ type: "call", index: known.index, name: redactKey(name, this.apiKey), bytes: known.bytes });
  }
}

const MAX_CALLED_NAME_CHARS = 100;

/** Where thoughts stand; what is told in one place is told in others again. */
const THOUGHTS = ["reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks"];

/** The characters of a thought: a text, or its parts. */
function lengthIn(thought: unknown): number {
  if (typeof thought === "string") return thought.length;
  if (Array.isArray(thought)) return thought.reduce((sum: number, part) => sum + lengthIn(part), 0);
  const fields = fieldsOf(thought);
  const told = fields?.["text"] ?? fields?.["thinking"] ?? fields?.["summary"];
  return told === undefined ? 0 : lengthIn(told);
}

/** As `visibleText` of a text that is not there yet: what the model thinks in tags is counted, not shown, but for thoughts in the middle. */
class VisibleStream {
  private readonly tell: OnPiece;
  private readonly guard: KeyGuard;
  private state: "beginning" | "thought" | "text" = "beginning";
  /** A beginning that may still become a tag. */
  private held = "";
  /** The end of what came before: a tag may begin there. */
  private tail = "";
  private closing = "";
  private hasOpened = false;

  constructor(tell: OnPiece, guard: KeyGuard) {
    this.tell = tell;
    this.guard = guard;
  }

  add(piece: string): void {
    for (let rest = piece; rest !== "";) rest = this.take(rest);
  }

  /** Takes a text, and returns what has to be looked at anew. */
  private take(text: string): string {
    if (this.state === "beginning") return this.begin(text);
    const window = this.tail + text;
    this.tail = window.slice(-LONGEST_TAG);
    if (this.state === "thought") {
      const end = indexOfTag(window, this.closing);
      this.tell({ type: "thinking", characters: text.length });
      return end === -1 ? "" : this.beginAnew(window.slice(end + this.closing.length));
    }
    this.hasOpened ||= OPENING_TAGS.some((tag) => indexOfTag(window, tag) !== -1);
    const closing = this.hasOpened ? undefined : CLOSING_TAGS.find((tag) => indexOfTag(window, tag) !== -1);
    if (closing === undefined) {
      this.say(text);
      return "";
    }
    // The server had begun a thought: all of it was none of the answer.
    this.guard.forget();
    this.tell({ type: "restart" });
    return this.beginAnew(window.slice(indexOfTag(window, closing) + closing.length));
  }

  private begin(text: string): string {
    this.held += text;
    const begun = this.held.trimStart().slice(0, LONGEST_TAG).toLowerCase();
    const tag = OPENING_TAGS.findIndex((opening) => begun.startsWith(opening));
    if (tag === -1) {
      if (OPENING_TAGS.some((opening) => opening.startsWith(begun))) return "";
      this.state = "text";
      return this.release(this.held);
    }
    this.state = "thought";
    this.closing = CLOSING_TAGS[tag] ?? "";
    return this.release(this.held.trimStart().slice(OPENING_TAGS[tag]?.length));
  }

  private release(text: string): string {
    this.held = "";
    this.tail = "";
    return text;
  }

  private beginAnew(rest: string): string {
    this.state = "beginning";
    return this.release(rest);
  }

  private say(text: string): void {
    const clean = this.guard.pass(text);
    if (clean !== "") this.tell({ type: "text", text: clean });
  }
}

/** Of a word without end, so much is kept back. */
const KEPT_BACK = 1_024;

/** Lets a text pass word by word, the key of the request taken out of it: a key, however it is encoded, is one word. */
class KeyGuard {
  private readonly apiKey: string;
  private held = "";

  constructor(apiKey: string) {
    this.apiKey = isSecretInTexts(apiKey) ? apiKey : "";
  }

  pass(text: string): string {
    if (this.apiKey === "") return text;
    this.held += text;
    let kept = /[!-~]*$/.exec(this.held.slice(-2 * KEPT_BACK))?.[0].length ?? 0;
    if (kept === 2 * KEPT_BACK) {
      this.held = redactKey(this.held, this.apiKey);
      kept = KEPT_BACK;
    }
    const shown = this.held.slice(0, Math.max(0, this.held.length - kept));
    this.held = this.held.slice(shown.length);
    return redactKey(shown, this.apiKey);
  }

  forget(): void {
    this.held = "";
  }
}

/** The text of a part of a content; undefined for a part that is none, such as a thought. */
export function textOfPart(part: unknown): string | undefined {
  const fields = fieldsOf(part);
  if (fields === undefined) return textOf(part);
  return ["", "text", "output_text"].includes(textOf(fields["type"])) ? textOf(fields["text"]) : undefined;
}
