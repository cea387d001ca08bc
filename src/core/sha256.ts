import { z } from "zod";

const DIGITS = /^[0-9a-f]{64}$/;

/** Whether the text is a SHA-256 as it is spelled everywhere here: 64 lower-case hexadecimal digits. */
export function isSha256(text: string): boolean {
  return DIGITS.test(text);
}

/** A text that `isSha256`. */
export const sha256Schema = z.string().regex(DIGITS, "must be a SHA-256 as 64 hexadecimal digits");
