import { utf8Length } from "../text.js";

/** What a run carries along of the files it has saved: the newest, few and short enough for one value of a history. */
const MAX_LISTED_OUTPUTS = 200;
const MAX_LISTED_BYTES = 48 * 1024;

/** The list after one more file was saved; the manifest has them all. */
export function listOutput(listed: readonly string[], path: string): readonly string[] {
  return listed.includes(path) ? listed : newestOutputs([...listed, path]);
}

export function newestOutputs(paths: readonly string[]): readonly string[] {
  let bytes = 0;
  let first = paths.length;
  while (first > Math.max(0, paths.length - MAX_LISTED_OUTPUTS)) {
    bytes += utf8Length(paths[first - 1] ?? "");
    if (bytes > MAX_LISTED_BYTES) break;
    first -= 1;
  }
  return paths.slice(first);
}
