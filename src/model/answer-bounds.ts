import { boundedChunks, textOfChunks } from "../http/bounded-body.js";
import type { ChatAnswer } from "./chat.js";
import { badResponse } from "./model-error.js";
import type { WireAnswer } from "../http/send.js";

/** What one answer may have, in bytes as they are read: decompressed, comments of streams and all. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The bytes of an answer as they arrive. Rejects with `LLM_BAD_RESPONSE` when there are more than an answer may have. */
export function answerChunks({ body }: Pick<WireAnswer, "body">): AsyncGenerator<Uint8Array> {
  return boundedChunks(body, MAX_ANSWER_BYTES, () =>
    badResponse(`it is longer than ${MAX_ANSWER_BYTES} bytes, and was not read to its end`),
  );
}

/** The text of an answer; not more than an answer may have. */
export function readText(response: Pick<WireAnswer, "body">): Promise<string> {
  return textOfChunks(answerChunks(response));
}

/** So much tells what an answer is. */
const BEGINNING_CHARS = 8;

/** The first characters of an answer that are no space, and all of its bytes, these among them. */
export async function beginningOf(
  chunks: AsyncGenerator<Uint8Array>,
): Promise<{ readonly beginning: string; readonly chunks: AsyncIterable<Uint8Array> }> {
  const decoder = new TextDecoder();
  const seen: Uint8Array[] = [];
  let beginning = "";
  while (beginning.length < BEGINNING_CHARS) {
    const next = await chunks.next();
    if (next.done === true) break;
    seen.push(next.value);
    beginning = `${beginning}${decoder.decode(next.value, { stream: true })}`
      .trimStart()
      .slice(0, BEGINNING_CHARS);
  }
  return { beginning, chunks: inOrder(seen, chunks) };
}

async function* inOrder(
  seen: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* seen;
    yield* rest;
  } finally {
    await rest.return(undefined); // also where nobody has read as far as that
  }
}

/** Characters that have to be escaped one by one where an answer is written down; no text has many of them. */
const MAX_UNPRINTABLE = 100_000;

export function assertPrintable(answer: ChatAnswer): ChatAnswer {
  let seen = 0;
  for (const text of [answer.content, ...answer.toolCalls.map(({ argumentsJson }) => argumentsJson)]) {
    // eslint-disable-next-line no-control-regex -- these are the ones to count
    const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
    while (unprintable.exec(text) !== null) {
      seen += 1;
      if (seen > MAX_UNPRINTABLE) throw badResponse("it is full of control characters");
    }
  }
  return answer;
}
