import { readFile, stat } from "node:fs/promises";
import { type Result, ok } from "../../core/errors.js";
import { requireSystemCode, unreadFault } from "../../core/system-code.js";

/**
 * The bytes of a file, which messages call `shown`. Undefined where there is none, for what is no regular file, and for one of more than
 * `maxBytes`. Fault: `E_INTERNAL` where it cannot be read now.
 */
export async function readSmallFile(
  path: string,
  shown: string,
  maxBytes: number,
): Promise<Result<Uint8Array | undefined>> {
  try {
    const entry = await stat(path);
    if (!entry.isFile() || entry.size > maxBytes) return ok(undefined);
    return ok(await readFile(path));
  } catch (error) {
    return unreadFault(shown, requireSystemCode(error)) ?? ok(undefined);
  }
}
