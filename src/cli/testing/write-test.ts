import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { requireSystemCode } from "../../core/system-code.js";
import { makeFolders } from "../../store/disk/make-folders.js";
import { writeOwnStream } from "../../store/disk/own-file.js";
import { CommandError } from "../terminal/output.js";
import { saveFile } from "../../store/disk/save-file.js";

/** Writes a new file of a package, whole or not at all. Throws a sentence where one is there already. */
export async function writeNewFile(root: string, path: string, text: string): Promise<void> {
  const file = join(root, path);
  try {
    await makeFolders(dirname(file));
    await saveFile(file, (temporary) => pipeline(Readable.from([text]), writeOwnStream(temporary)));
  } catch (error) {
    const code = requireSystemCode(error);
    const why =
      code === "EEXIST" ? "is there already: choose another name with --as" : `cannot be written (${code})`;
    throw new CommandError(`${file} ${why}.`, { cause: error });
  }
}
