import { closeSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wordsOf } from "../core/system-code.js";
import { openOwnFile } from "../store/disk/own-file.js";
import { removeIfPresent } from "../store/disk/remove-leftover.js";
import type { ServerFiles } from "./server-record.js";

/** More than a database writes until it is up. */
const ROOM_BYTES = 1024 * 1024;

/** Why a server did not come up, with what helps. `how` ends "The Temporal server …", `lines` are the last of its log. */
export function startFailure(
  files: ServerFiles,
  cliPath: string,
  how: string,
  lines: readonly string[],
): string {
  const unwritten = writeProblem(files);
  const begin = `The Temporal server (${cliPath}) ${how}`;
  if (unwritten !== undefined) {
    return `${begin}: nothing can be written in ${files.storeDir} (${unwritten}). Make room there, or make it writable, and try again. Its database stays as it is.`;
  }
  const quoted = lines.length === 0 ? ["  (nothing)"] : lines.map((line) => `  ${line}`);
  return [
    `${begin}. The last lines of ${files.log}:`,
    ...quoted,
    `If they speak of the database: ${files.database} is damaged, or another Temporal version wrote it. Use the ` +
      "version that wrote it (INTERLOCK_TEMPORAL_CLI), or move the file away: what runs have written stays, " +
      "their Temporal histories go with it.",
  ].join("\n");
}

/** What the system says where a database cannot write. The server's log says it of itself at most: it may have no room either. */
function writeProblem({ storeDir }: ServerFiles): string | undefined {
  const path = join(storeDir, "temporal-server.room");
  removeIfPresent(path); // of who died here
  try {
    const fd = openOwnFile(path, "create");
    try {
      writeFileSync(fd, Buffer.alloc(ROOM_BYTES));
    } finally {
      closeSync(fd);
    }
    return undefined;
  } catch (error) {
    return wordsOf(error);
  } finally {
    removeIfPresent(path);
  }
}
