import { closeSync, fstatSync, readSync } from "node:fs";
import type { JsonAnswers, StoreQuestion } from "../contract/reads.js";
import { type Result, fail, ok } from "../core/errors.js";
import { type RunEvent, toRunEvent } from "../core/run/run-event.js";
import { parseLine } from "../store/disk/append-log.js";
import { openOwnFile } from "../store/disk/own-file.js";
import type { Store } from "../store/store.js";
import { openRun } from "./run-facts.js";
import { systemCode } from "../core/system-code.js";

/** What is looked at for one answer. */
const MAX_BYTES = 128 * 1024;
/** No line of the log comes near to that. */
const MAX_LINE_BYTES = 1024 * 1024;
const SCAN_BYTES = 256 * 1024;
const LF = 0x0a;

/** Where a line begins: so many bytes, and so many lines, are before it. */
interface Place {
  readonly offset: number;
  readonly lines: number;
}

/** The next events of a run's audit log, whole lines only. Faults: `E_RUN_NOT_FOUND`, `E_INTERNAL`. */
export async function eventsOf(
  store: Store,
  asked: StoreQuestion<"read.events">,
): Promise<Result<JsonAnswers["read.events"]>> {
  const opened = await openRun(store, asked.run);
  if (!opened.ok) return opened;
  const { run, files } = opened.value;
  const { runId, phase, createdAt } = run;
  const about = { runId, phase, createdAt };
  const fd = openLog(files.logFile);
  if (fd === undefined) return ok({ ...about, events: [], next: { offset: 0, lines: 0 }, more: false });
  try {
    const { size } = fstatSync(fd);
    const begin = asked.at ?? beginningOf(fd, size, asked);
    const piece = readLines(fd, begin.offset, size);
    if (piece === undefined) return fail("E_INTERNAL", tooLong(runId));
    const events: RunEvent[] = [];
    let { offset, lines } = begin;
    for (const line of piece) {
      offset += line.length + 1;
      lines += 1;
      const parsed = parseLine(line);
      const event = parsed && toRunEvent(parsed, lines, runId);
      if (event !== undefined) events.push(event);
    }
    return ok({ ...about, events, next: { offset, lines }, more: piece.length > 0 && offset < size });
  } finally {
    closeSync(fd);
  }
}

function tooLong(runId: string): string {
  return `The run's audit log has a line that Interlock has not written. See: interlock audit verify ${runId}`;
}

function openLog(path: string): number | undefined {
  try {
    return openOwnFile(path, "read");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The whole lines from a place on, as many as one answer takes; undefined where a line is too long. */
function readLines(fd: number, offset: number, size: number): readonly Buffer[] | undefined {
  for (let room = MAX_BYTES; room <= MAX_LINE_BYTES; room *= 2) {
    const bytes = readAt(fd, offset, Math.min(room, Math.max(0, size - offset)));
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    if (lines.length > 0 || bytes.length < room) return lines;
  }
  return undefined;
}

/** Where the last events begin, or the one of a number, or all of them. */
function beginningOf(
  fd: number,
  size: number,
  { seq = 1, tail }: Pick<StoreQuestion<"read.events">, "seq" | "tail">,
): Place {
  const starts: Place[] = [{ offset: 0, lines: 0 }];
  if (tail === undefined && seq <= 1) return { offset: 0, lines: 0 };
  for (let from = 0; from < size; from += SCAN_BYTES) {
    const bytes = readAt(fd, from, Math.min(SCAN_BYTES, size - from));
    for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
      const place = { offset: from + at + 1, lines: (starts.at(-1)?.lines ?? 0) + 1 };
      if (tail === undefined && place.lines === seq - 1) return place;
      starts.push(place);
      if (starts.length > (tail ?? 0) + 1) starts.shift();
    }
  }
  // Fewer than were asked for: what is there; a number that is not there yet: whatever comes next.
  return (tail === undefined ? starts.at(-1) : starts[0]) ?? { offset: 0, lines: 0 };
}

function readAt(fd: number, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, offset));
}
