import type { AnswerPage, AskedPage } from "../contract/reads.js";
import { READ_PAGE_BYTES } from "../contract/reads.js";
import { type Result, fail, ok } from "../core/errors.js";
import { sha256 } from "../store/disk/sha256.js";

/** An answer, of which any piece can be had. */
export interface Answer {
  readonly size: number;
  /** Another one for other bytes. */
  readonly version: string;
  slice(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** A longer text is refused: nobody reads it page by page. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
const MAX_KEPT = 8;
const MAX_KEPT_BYTES = 96 * 1024 * 1024;

/** Answers of several pages, kept for who comes for the next one: the run may have moved on meanwhile. */
export class KeptTexts {
  private readonly texts = new Map<string, Buffer>();

  /** By what was asked, and its version. */
  find(key: string): Buffer | undefined {
    return this.texts.get(key);
  }

  keep(key: string, bytes: Buffer): void {
    this.texts.delete(key);
    this.texts.set(key, bytes);
    let size = [...this.texts.values()].reduce((sum, kept) => sum + kept.length, 0);
    for (const [oldest, kept] of this.texts) {
      if (oldest === key || (this.texts.size <= MAX_KEPT && size <= MAX_KEPT_BYTES)) break;
      this.texts.delete(oldest);
      size -= kept.length;
    }
  }

  forget(key: string): void {
    this.texts.delete(key);
  }
}

/** A value as an answer of JSON. Fault: `E_READ_LIMIT`. */
export function textAnswer(value: object): Result<Buffer> {
  const bytes = Buffer.from(JSON.stringify(value));
  if (bytes.length <= MAX_TEXT_BYTES) return ok(bytes);
  const sentence = `The answer would have ${bytes.length} bytes, and at most ${MAX_TEXT_BYTES} are handed out. Take the run's files instead: interlock export <run>`;
  return fail("E_READ_LIMIT", sentence);
}

export function bytesAnswer(bytes: Buffer): Answer {
  return {
    size: bytes.length,
    version: sha256(bytes),
    slice: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)),
    close: () => Promise.resolve(),
  };
}

/** The page that was asked for. Fault: `E_PRECONDITION_FAILED` where it is that of another version by now. */
export async function pageOf(
  answer: Answer,
  storeId: string,
  page: AskedPage["page"],
): Promise<Result<AnswerPage>> {
  try {
    const { size, version } = answer;
    if (page !== undefined && page.version !== version) {
      return fail("E_PRECONDITION_FAILED", CHANGED);
    }
    const offset = page?.offset ?? 0;
    const bytes = offset >= size ? Buffer.alloc(0) : await answer.slice(offset, READ_PAGE_BYTES);
    return ok({ storeId, size, version, offset, base64: Buffer.from(bytes).toString("base64") });
  } finally {
    await answer.close();
  }
}

const CHANGED = "What was asked for has changed while it was being read. Ask again.";
