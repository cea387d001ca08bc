import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import {
  type JsonAnswers,
  MAX_UPLOAD_BYTES,
  READ_PAGE_BYTES,
  type StoreReader,
} from "../../contract/reads.js";
import { type Result, fail } from "../../core/errors.js";
import { readOwnFile } from "../../store/disk/own-file.js";
import { UsageError } from "../terminal/output.js";

/** Hands a `.bmad` file to a store elsewhere, in pieces, and has it installed there. Throws `UsageError` for what is no such file. */
export async function uploadPackage(
  reader: StoreReader,
  path: string,
): Promise<Result<JsonAnswers["package.install"]>> {
  const bytes = await readArchive(path);
  const whole = { sha256: createHash("sha256").update(bytes).digest("hex"), size: bytes.length };
  for (let offset = 0; offset < bytes.length;) {
    const base64 = bytes.subarray(offset, offset + READ_PAGE_BYTES).toString("base64");
    const kept = await reader.ask("package.upload", { ...whole, offset, base64 });
    if (!kept.ok) return kept;
    if (kept.value.received <= offset) return fail("E_INTERNAL", "The store does not keep the upload.");
    offset = kept.value.received;
  }
  return reader.ask("package.install", whole);
}

async function readArchive(path: string): Promise<Buffer> {
  const entry = await stat(path).catch(() => {
    throw new UsageError(`"${path}" cannot be read.`);
  });
  if (!entry.isFile()) {
    throw new UsageError(
      "The store is on another machine: give a .bmad file, which is the directory as a zip.",
    );
  }
  if (entry.size === 0 || entry.size > MAX_UPLOAD_BYTES) {
    const sentence = `To a store on another machine a .bmad file of at most ${MAX_UPLOAD_BYTES} bytes can be given; this one has ${entry.size}.`;
    throw new UsageError(`${sentence} Install it on the store's machine.`);
  }
  return readOwnFile(await realpath(path), MAX_UPLOAD_BYTES);
}
