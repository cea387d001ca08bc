import { open } from "node:fs/promises";
import { type Result, fail, ok } from "../../core/errors.js";
import { requireSystemCode, unreadFault } from "../../core/system-code.js";
import { type FileIdentity, sameIdentity } from "../../store/roots/root-places.js";
import { READ_FLAGS } from "../sandbox/pinned-entry.js";

/**
 * The bytes of a file, which messages call `shown`. Undefined where there is none, for what is no regular file, and for one of more than
 * `maxBytes`. Faults: `E_INTERNAL` where it cannot be read now, and where it is not `identity`, what it was when it was permitted.
 */
export async function readSmallFile(
  path: string,
  shown: string,
  maxBytes: number,
  identity?: FileIdentity,
): Promise<Result<Uint8Array | undefined>> {
  try {
    const handle = await open(path, READ_FLAGS);
    try {
      const entry = await handle.stat({ bigint: true });
      if (identity !== undefined && !sameIdentity(identity, entry))
        return fail("E_INTERNAL", `${shown} was exchanged while it was opened.`);
      return ok(entry.isFile() && entry.size <= maxBytes ? await handle.readFile() : undefined);
    } finally {
      await handle.close();
    }
  } catch (error) {
    return unreadFault(shown, requireSystemCode(error)) ?? ok(undefined);
  }
}
