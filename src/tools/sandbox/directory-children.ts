import { type Dirent, opendirSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import { protectingRulesIn } from "../../core/tools/name-rules.js";
import type { Pacer } from "./pacer.js";
import type { PinnedEntry } from "./pinned-entry.js";
import type { Mount } from "./workspace.js";

/** More entries than this are not looked at: a directory of a million costs what one of this size does. */
export const MAX_DIRECTORY_ENTRIES = 100_000;

/** The visible children of a directory. */
export interface Children {
  /** In order of their UTF-16 code units, directories with a trailing `/`. */
  readonly names: readonly string[];
  /** False when the directory has more entries than are looked at. */
  readonly complete: boolean;
}

/** Lists what the tools show: no hidden entries, no links, no name that is not UTF-8. */
export async function readChildren(
  directory: PinnedEntry,
  pacer: Pacer,
  maxEntries = MAX_DIRECTORY_ENTRIES,
): Promise<Children> {
  const names: string[] = [];
  const stream = opendirSync(directory.at, { encoding: "buffer" as BufferEncoding, bufferSize: 1024 });
  try {
    for (let seen = 0; ; seen += 1) {
      const entry = stream.readSync() as Dirent<Buffer> | null; // the encoding makes it so
      if (entry === null) return { names: names.sort(), complete: true };
      if (seen === maxEntries) return { names: names.sort(), complete: false };
      if (seen % 1024 === 1023 && pacer.due) await pacer.pause();
      if (entry.name[0] === 0x2e || entry.isSymbolicLink() || !isUtf8(entry.name)) continue;
      names.push(entry.isDirectory() ? `${entry.name.toString()}/` : entry.name.toString());
    }
  } finally {
    stream.closeSync();
  }
}

/** As `readChildren`, without those that a rule keeps from being read. `above` are the names from the mount's root to the directory. */
export async function readPermittedChildren(
  directory: PinnedEntry,
  { root, protectedPaths }: Pick<Mount, "root" | "protectedPaths">,
  above: readonly string[],
  pacer: Pacer,
): Promise<Children> {
  const { names, complete } = await readChildren(directory, pacer);
  const ruleOf = protectingRulesIn(root, protectedPaths);
  const permitted: string[] = [];
  for (const name of names) {
    const path = [...above, name.replace(/\/$/u, "")];
    if (ruleOf(path, "read", above.length) === undefined) permitted.push(name);
    if (pacer.due) await pacer.pause();
  }
  return { names: permitted, complete };
}
