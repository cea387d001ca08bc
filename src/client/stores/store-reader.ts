import { parseJsonAnswer } from "../../contract/answer-schemas.js";
import {
  type AnswerPage,
  type AskedPage,
  type ByteReadName,
  type ChangeName,
  type JsonAnswers,
  type JsonReadName,
  type PageSource,
  type StoreQuestion,
  type StoreQuestionName,
  type StoreReader,
  NOT_UNDERSTOOD,
  ReadRefused,
  isChange,
} from "../../contract/reads.js";
import { type Result, fail, ok } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";

/** How often an answer that has changed while it was read is read anew. */
const MAX_READS = 3;
/** More than a store hands out at once. */
const MAX_JSON_BYTES = 128 * 1024 * 1024;

export interface ReaderOptions {
  /** Another store than that is not asked. */
  readonly storeId?: string;
  /** Absent means from elsewhere. */
  readonly isAtHand?: boolean;
}

/** Puts the pages of answers together, wherever they come from. */
export function storeReader(
  pageOf: PageSource,
  { storeId, isAtHand = false }: ReaderOptions = {},
): StoreReader {
  const meant = storeId === undefined ? {} : { storeId };
  const first = <N extends StoreQuestionName>(name: N, question: StoreQuestion<N>) =>
    pageOf(name, { ...meant, question });
  const next = (name: StoreQuestionName, question: object, begun: AnswerPage, offset: number) => {
    const { storeId: from, version } = begun;
    const asked: AskedPage = { storeId: from, question: question as JsonObject, page: { offset, version } };
    return pageOf(name, asked);
  };

  /** Stale: it has changed since it was begun. */
  async function whole(name: StoreQuestionName, question: object): Promise<Result<Buffer> | "stale"> {
    const begun = await first(name, question as never); // of that name: the callers' types say so
    if (!begun.ok) return begun;
    if (begun.value.size > MAX_JSON_BYTES) return fail("E_INTERNAL", NOT_UNDERSTOOD);
    const pages = [Buffer.from(begun.value.base64, "base64")];
    for (let offset = pages[0]?.length ?? 0; offset < begun.value.size;) {
      const page = await next(name, question, begun.value, offset);
      if (!page.ok) return page.error.code === "E_PRECONDITION_FAILED" ? "stale" : page;
      const bytes = Buffer.from(page.value.base64, "base64");
      if (bytes.length === 0) break;
      pages.push(bytes);
      offset += bytes.length;
    }
    return ok(Buffer.concat(pages));
  }

  function toJson<N extends keyof JsonAnswers>(name: N, bytes: Buffer): Result<JsonAnswers[N]> {
    if (!isAtHand) return parseJsonAnswer(name, bytes);
    return ok(JSON.parse(bytes.toString("utf8")) as JsonAnswers[N]); // as the store makes it
  }

  return {
    isAtHand,
    async ask<N extends JsonReadName | ChangeName>(name: N, question: StoreQuestion<N>) {
      for (let attempt = 1; ; attempt += 1) {
        const answer = await whole(name, question);
        if (answer !== "stale") return answer.ok ? toJson(name, answer.value) : answer;
        if (attempt === MAX_READS || isChange(name)) return fail("E_PRECONDITION_FAILED", STALE);
      }
    },
    async *bytes<N extends ByteReadName>(name: N, question: StoreQuestion<N>) {
      const begun = await first(name, question);
      if (!begun.ok) throw new ReadRefused(begun.error);
      const { size } = begun.value;
      let bytes = Buffer.from(begun.value.base64, "base64");
      for (let offset = 0; ;) {
        // What grows meanwhile is read to where it ended at first.
        const piece = bytes.subarray(0, size - offset);
        if (piece.length > 0) yield piece;
        offset += piece.length;
        if (offset >= size || piece.length === 0) return;
        const page = await next(name, question, begun.value, offset);
        if (!page.ok) throw new ReadRefused(page.error);
        bytes = Buffer.from(page.value.base64, "base64");
      }
    },
  };
}

const STALE = "What was asked for changes faster than it can be read. Ask again later.";

/** All bytes of a file of a store. Throws a `ReadRefused`. */
export async function wholeFile(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
