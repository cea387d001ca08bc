import { closeSync, mkdirSync, readSync, readdirSync, rmdirSync, unlinkSync, write } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { jsonIn } from "../../core/json.js";
import type { AnswerPiece } from "../../core/run/answer-piece.js";
import type { HeldLock } from "../disk/fenced-lock.js";
import { isOwnFolder, openOwnFile, standsThere } from "../disk/own-file.js";

/**
 * What arrives of an answer while a model gives it, for those who watch. It is no part of the run: the conversation gets
 * the answer when it is whole. So nothing here is synced, nothing of it fails, and whatever a crash leaves is removed by
 * the next call of the model.
 *
 * Each attempt has a file of its own in `live/`, named after execution, visit, turn and attempt, made once and appended
 * to. A worker that was stopped for long writes to its own file, never to its successor's, and that one is the newer.
 */

/** Which call of the model writes. All count from 1. */
export interface LiveCall {
  readonly execution: number;
  readonly visit: number;
  readonly turn: number;
  readonly attempt: number;
}

const headerSchema = z.object({
  /** Who is asked: origin and path. */
  endpoint: z.string().max(300),
  model: z.string().max(100),
  startedAt: z.iso.datetime(),
  /** Longest wait for the whole answer. */
  timeoutMs: z.number(),
});
/** Who is asked, since when, and how long the answer is waited for. */
export type LiveHeader = z.infer<typeof headerSchema>;

const callSchema = z.object({ name: z.string().max(100), bytes: z.int().min(0) });

/** One line after the header: what has come since the line before, text, and the counts of what is not shown. */
const lineSchema = z.object({
  at: z.iso.datetime(),
  text: z.string().default(""),
  /** What came before was no answer after all, but a thought. */
  restarts: z.boolean().default(false),
  /** Characters the model has thought so far. */
  thinking: z.int().min(0).default(0),
  /** The tool calls begun so far, the newest last; the oldest may be left out. */
  calls: z.array(callSchema).max(16).default([]),
});
type LiveLine = z.infer<typeof lineSchema>;

/** What a watched answer has come to. Times are UTC, ISO 8601. */
export interface LiveAnswer extends LiveCall, LiveHeader {
  /** When something came last; absent while nothing has. */
  readonly lastAt?: string;
  /** The answer's text since the offset that was given, 64 Ki characters at most. It is the model's: not printable as it is. */
  readonly text: string;
  /** What was read of this call before is to be forgotten: `text` is all that counts. */
  readonly restarts: boolean;
  /** Characters the model has thought so far. */
  readonly thinking: number;
  /** Tool calls under way, the newest last, with the bytes of their arguments so far. */
  readonly calls: readonly { readonly name: string; readonly bytes: number }[];
  /** Where to go on reading. */
  readonly offset: number;
}

/** What of a call has been read before. */
export interface LivePosition extends LiveCall {
  readonly offset: number;
}

/** What one call may write in all. */
const MAX_FILE_BYTES = 1024 * 1024;
/** What is read at once. */
const MAX_READ_BYTES = 64 * 1024;
const PAUSE_MS = 100;

const NAME = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})\.(\d{1,9})\.jsonl$/;

/** The newest call of a run that is under way, from where it was read before; undefined while none is. Never throws. */
export function readLive(runDir: string, since?: LivePosition): LiveAnswer | undefined {
  try {
    const dir = liveDir(runDir);
    const call = isOwnFolder(dir) ? callsIn(dir).at(-1) : undefined;
    return call && readCall(dir, call, since);
  } catch {
    return undefined; // it has just ended, or cannot be read: the conversation will say
  }
}

function readCall(dir: string, call: LiveCall, since: LivePosition | undefined): LiveAnswer | undefined {
  const fd = openOwnFile(join(dir, nameOf(call)), "read");
  try {
    const first = readLines(fd, 0, MAX_HEADER_BYTES);
    const header = headerSchema.safeParse(first.lines[0]?.value);
    const headerEnd = first.lines[0]?.end;
    if (!header.success || headerEnd === undefined) return undefined;
    const goesOn = since !== undefined && compare(since, call) === 0 && since.offset >= headerEnd;
    const { lines, end } = readLines(fd, goesOn ? since.offset : headerEnd, MAX_READ_BYTES);
    const read = lines.flatMap(({ value }) => lineSchema.safeParse(value).data ?? []);
    const restart = read.findLastIndex(({ restarts }) => restarts);
    const last = read.at(-1);
    return {
      ...call,
      ...header.data,
      ...(last === undefined ? {} : { lastAt: last.at }),
      text: read
        .slice(Math.max(restart, 0))
        .map(({ text }) => text)
        .join(""),
      restarts: restart >= 0 || !goesOn,
      thinking: last?.thinking ?? 0,
      calls: last?.calls ?? [],
      offset: end,
    };
  } finally {
    closeSync(fd);
  }
}

const MAX_HEADER_BYTES = 4_096;

/** Whole lines from an offset on; what is no JSON has no value. */
function readLines(fd: number, offset: number, maxBytes: number) {
  const buffer = Buffer.alloc(maxBytes);
  const bytes = readSync(fd, buffer, 0, maxBytes, offset);
  const lines: { readonly value: unknown; readonly end: number }[] = [];
  let start = 0;
  for (let at = buffer.indexOf(10); at !== -1 && at < bytes; at = buffer.indexOf(10, start)) {
    lines.push({ value: jsonIn(buffer.toString("utf8", start, at)), end: offset + at + 1 });
    start = at + 1;
  }
  return { lines, end: offset + start };
}

const writeTo = promisify(write);

/** Writes down what comes of one call of the model. Nothing that goes wrong here is anybody's failure. */
export class LiveWriter {
  private readonly dir: string;
  private readonly call: LiveCall;
  private readonly claim: HeldLock;
  /** Of a call that has begun and is not over. */
  private header: LiveHeader | undefined;
  private fd: number | undefined;
  private hasNews = false;
  private bytes = 0;
  private text = "";
  private restarts = false;
  private thinking = 0;
  private readonly calls = new Map<number, { readonly name: string; readonly bytes: number }>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  /** Whoever has lost the claim writes nothing. */
  constructor(runDir: string, call: LiveCall, claim: HeldLock) {
    this.dir = liveDir(runDir);
    this.call = call;
    this.claim = claim;
  }

  /** The call has begun. It has a file after a moment: nobody sees an answer that takes less. */
  begin(header: LiveHeader): void {
    if (this.header !== undefined) return;
    this.header = header;
    this.flushSoon();
  }

  add(piece: AnswerPiece): void {
    if (this.header === undefined) return;
    this.hasNews = true;
    if (piece.type === "text") this.text += piece.text;
    else if (piece.type === "thinking") this.thinking += piece.characters;
    else if (piece.type === "call") {
      this.calls.set(piece.index, { name: piece.name.slice(0, MAX_SHOWN_NAME_CHARS), bytes: piece.bytes });
    } else {
      this.text = "";
      this.restarts = true;
    }
    this.flushSoon();
  }

  /** The call has ended: what came of it is in the conversation, or void. */
  async end(): Promise<void> {
    this.stop();
    await this.writing;
    try {
      if (!standsThere(this.dir)) return;
      removeUpTo(this.dir, this.call);
      rmdirSync(this.dir); // whether one of its answers took long is no part of what a run leaves
    } catch {
      // a newer call has its file there
    }
  }

  private flushSoon(): void {
    this.timer ??= setTimeout(() => this.flush(), PAUSE_MS).unref();
  }

  private flush(): void {
    this.timer = undefined;
    const { header } = this;
    if (header === undefined) return;
    if (!this.claim.isHeld()) return this.stop();
    try {
      if (this.fd === undefined) this.makeFile(header);
      if (this.hasNews) this.writeNews();
    } catch {
      this.stop();
    }
  }

  /** Removes what earlier calls have left. */
  private makeFile(header: LiveHeader): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    removeUpTo(this.dir, this.call);
    this.fd = openOwnFile(join(this.dir, nameOf(this.call)), "create");
    const { endpoint, model } = header;
    this.writeLine({
      ...header,
      endpoint: endpoint.slice(0, MAX_ENDPOINT_CHARS),
      model: model.slice(0, MAX_SHOWN_NAME_CHARS),
    });
  }

  private writeNews(): void {
    const { restarts, thinking } = this;
    const text = this.takeText();
    this.restarts = false;
    this.hasNews = this.text.length > 1;
    const calls = [...this.calls.values()].slice(-MAX_CALLS);
    const line: LiveLine = { at: new Date().toISOString(), text, restarts, thinking, calls };
    this.writeLine(line);
    if (this.hasNews) this.flushSoon();
  }

  /** Half a character waits for its other half. */
  private takeText(): string {
    let end = Math.min(this.text.length, MAX_TEXT_CHARS);
    if (/[\uD800-\uDBFF]/.test(this.text.charAt(end - 1))) end -= 1;
    const taken = this.text.slice(0, end);
    this.text = this.text.slice(end);
    return taken.toWellFormed();
  }

  /** One line at a time, whole lines only. */
  private writeLine(line: object): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    this.bytes += bytes.length;
    const { fd } = this;
    if (fd === undefined) return;
    if (this.bytes > MAX_FILE_BYTES) return this.stop();
    this.writing = this.writeAfter(this.writing, fd, bytes);
  }

  private async writeAfter(before: Promise<void>, fd: number, bytes: Buffer): Promise<void> {
    await before;
    if (this.fd !== fd) return;
    const { bytesWritten } = await writeTo(fd, bytes).catch(() => ({ bytesWritten: 0 }));
    if (bytesWritten !== bytes.length) this.stop();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { fd } = this;
    [this.header, this.fd] = [undefined, undefined];
    if (fd !== undefined) this.writing = this.writing.finally(() => closeSync(fd));
  }
}

/** A line of these, escaped, is shorter than what is read at once. */
const MAX_TEXT_CHARS = 4_000;
const MAX_CALLS = 16;
const MAX_SHOWN_NAME_CHARS = 100;
const MAX_ENDPOINT_CHARS = 300;

/** Removes what the calls up to this one have left. */
function removeUpTo(dir: string, call: LiveCall): void {
  if (!isOwnFolder(dir)) return;
  for (const other of callsIn(dir)) if (compare(other, call) <= 0) unlinkSync(join(dir, nameOf(other)));
}

/** The calls that have a file, oldest first. */
function callsIn(dir: string): readonly LiveCall[] {
  return readdirSync(dir)
    .flatMap((name) => {
      const [execution, visit, turn, attempt] = (NAME.exec(name) ?? []).slice(1).map(Number);
      return execution === undefined || visit === undefined || turn === undefined || attempt === undefined
        ? []
        : [{ execution, visit, turn, attempt }];
    })
    .sort(compare);
}

function compare(a: LiveCall, b: LiveCall): number {
  return a.execution - b.execution || a.visit - b.visit || a.turn - b.turn || a.attempt - b.attempt;
}

function nameOf({ execution, visit, turn, attempt }: LiveCall): string {
  return `${execution}.${visit}.${turn}.${attempt}.jsonl`;
}

function liveDir(runDir: string): string {
  return join(runDir, "live");
}
