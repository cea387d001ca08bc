import { Refusal } from "./faults.js";
import { isUtf8 } from "node:buffer";

/** Says of a file, chunk by chunk, whether it is text: valid UTF-8 without a NUL byte. */
export class TextCheck {
  private carry: Buffer = Buffer.alloc(0);

  /**
   * The characters that are whole by now, as bytes valid until the chunk is reused; what is left of the last
   * one waits for the next chunk. Undefined as soon as the chunks so far cannot begin a text.
   */
  accept(chunk: Buffer): Buffer | undefined {
    if (chunk.includes(0)) return undefined;
    const bytes = this.carry.length === 0 ? chunk : Buffer.concat([this.carry, chunk]);
    const whole = bytes.subarray(0, wholeCharacters(bytes, bytes.length));
    this.carry = Buffer.from(bytes.subarray(whole.length));
    return isUtf8(whole) ? whole : undefined;
  }

  /** False when the text ended in the middle of a character. */
  ends(): boolean {
    return this.carry.length === 0;
  }
}

/** The longest length up to `length` at which UTF-8 text can be cut without splitting a character. */
export function wholeCharacters(bytes: Uint8Array, length: number): number {
  const end = Math.min(length, bytes.length);
  for (let back = 1; back <= 4 && back <= end; back += 1) {
    const byte = bytes[end - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue; // in the middle of a character: look for its first byte
    return back < characterLength(byte) ? end - back : end;
  }
  return end;
}

function characterLength(firstByte: number): number {
  if (firstByte >= 0xf0) return 4;
  if (firstByte >= 0xe0) return 3;
  return firstByte >= 0xc0 ? 2 : 1;
}

/** The bytes of a text that is to be written. Throws `E_WRITE_LIMIT`, `TOOL_ARGS_INVALID`. */
export function checkContent(content: string, maxBytes: number): Buffer {
  const bytes = Buffer.from(content);
  if (bytes.length > maxBytes) {
    throw new Refusal(
      "E_WRITE_LIMIT",
      `The content has ${bytes.length} bytes, the limit is ${maxBytes}. Split it into several files.`,
    );
  }
  if (/\p{Surrogate}/u.test(content)) {
    throw new Refusal("TOOL_ARGS_INVALID", "The content holds half a surrogate pair: UTF-8 cannot hold it.");
  }
  return bytes;
}
