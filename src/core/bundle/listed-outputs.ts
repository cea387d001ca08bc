import { newest } from "../newest.js";
import { utf8Length } from "../text.js";

/** What a run carries along of the files it has saved: the newest, few and short enough for one value of a history. */
const MOST_LISTED = { count: 200, size: 48 * 1024 };

/** The list after one more file was saved; the manifest has them all. */
export function listOutput(listed: readonly string[], path: string): readonly string[] {
  return listed.includes(path) ? listed : newestOutputs([...listed, path]);
}

export function newestOutputs(paths: readonly string[]): readonly string[] {
  return newest(paths, MOST_LISTED, utf8Length);
}
