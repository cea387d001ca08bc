import { link, lstat, rename } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { syncDirectory } from "./atomic-file.js";
import { removeLeftover } from "./remove-leftover.js";
import { systemCode } from "../../core/system-code.js";

/** What file systems say that know no second name for a file. */
const NO_LINKS: ReadonlySet<unknown> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Puts a file where a user wants it, written beside its place first: what is there is whole, and what fails leaves nothing. `write` makes
 * its bytes durable, this its name. Nothing is replaced unless it is asked for. Throws what the system says: `EEXIST` for what is there.
 */
export async function saveFile(
  file: string,
  write: (temporary: string) => Promise<unknown>,
  { replaces = false } = {},
): Promise<void> {
  const temporary = join(dirname(file), `.interlock-${randomBytes(6).toString("hex")}`);
  try {
    await write(temporary);
    if (replaces) await rename(temporary, file);
    else await putNew(temporary, file);
  } finally {
    await removeLeftover(temporary);
  }
  await syncDirectory(dirname(file)).catch(() => undefined); // where its file system can
}

async function putNew(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file); // fails where something has come there meanwhile
  } catch (error) {
    if (!NO_LINKS.has(systemCode(error))) throw error;
    if (await isThere(file)) throw Object.assign(new Error(`${file} is there`), { code: "EEXIST" });
    await rename(temporary, file);
  }
}

async function isThere(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
}
