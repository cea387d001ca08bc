import { badResponse } from "./model-error.js";

/** What one answer may have, in bytes as they are read: decompressed, comments of streams and all. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** What is read of an answer that says what went wrong; the rest is not waited for. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * The bytes of an answer as they arrive. Rejects with `LLM_BAD_RESPONSE` when there are more than an answer may have;
 * whoever stops reading, and the bound too, ends the connection.
 */
export async function* boundedChunks(response: Response): AsyncGenerator<Uint8Array> {
  const { body } = response;
  if (body === null) return;
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) {
      throw badResponse(`it is longer than ${MAX_ANSWER_BYTES} bytes, and was not read to its end`);
    }
    yield chunk;
  }
}

/** The text of an answer; not more than an answer may have. */
export async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of boundedChunks(response)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** The beginning of a text that says what went wrong; nothing where it cannot be read. */
export async function readErrorText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of boundedChunks(response)) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= MAX_ERROR_BYTES) break;
    }
  } catch {
    // The status says enough.
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString("utf8");
}
