import type { WireAnswer } from "./send.js";
import { within } from "../within.js";

/** What is read of an answer that says what went wrong; the rest is not waited for. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * The bytes of a body as they arrive. Rejects with what `tooMany` makes where there are more than `maxBytes`; whoever stops reading, and
 * the bound too, ends the connection.
 */
export async function* boundedChunks(
  body: WireAnswer["body"],
  maxBytes: number,
  tooMany: () => Error,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooMany();
    yield chunk;
  }
}

/** The text of the bytes, without a mark of their order. */
export async function textOfChunks(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return new TextDecoder().decode(Buffer.concat(all));
}

/** The beginning of a text that says what went wrong; nothing where it cannot be read. Its end is not waited for long. */
export async function readErrorText(
  response: Pick<WireAnswer, "body" | "leave">,
  waitMs = WORDS_MS,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  const read = async (): Promise<true> => {
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= MAX_ERROR_BYTES) break;
    }
    return true;
  };
  const isRead = await within(waitMs, read()).catch(() => true); // the status says enough
  if (isRead === undefined) response.leave?.();
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString("utf8");
}

/** How long anybody waits for words that say why, once it is known that something went wrong. */
const WORDS_MS = 2_000;
