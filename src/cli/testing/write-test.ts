import { randomBytes } from "node:crypto";
import { link } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { makeFolders } from "../../store/disk/make-folders.js";
import { writeOwnStream } from "../../store/disk/own-file.js";
import { removeLeftover } from "../../store/disk/remove-leftover.js";
import { systemCode } from "../../store/packages/package-files.js";
import { CommandError } from "../output.js";

/** Writes a new file of a package, whole or not at all. Throws a sentence where one is there already. */
export async function writeNewFile(root: string, path: string, text: string): Promise<void> {
  const file = join(root, path);
  const temporary = join(dirname(file), `.interlock-${randomBytes(6).toString("hex")}`);
  try {
    makeFolders(dirname(file));
    await pipeline(Readable.from([text]), writeOwnStream(temporary));
    await link(temporary, file); // fails where something is there
  } catch (error) {
    const code = systemCode(error);
    const why =
      code === "EEXIST" ? "is there already: choose another name with --as" : `cannot be written (${code})`;
    throw new CommandError(`${file} ${why}.`, { cause: error });
  } finally {
    await removeLeftover(temporary);
  }
}
