import { LAST_WORDS } from "./ends.js";
import type { SourceEdge } from "./source-edge.js";
import type { SourceText } from "./source-text.js";
import type { SourceTree } from "./source-tree.js";
import { comesBefore, nextInOrder } from "./step-files.js";

/** The one step that comes by its number after a step that says only when to go back; undefined for any other, and for a last one. */
export function stepBehind(
  tree: SourceTree,
  path: string,
  ways: readonly SourceEdge[],
  source: SourceText | undefined,
): string | undefined {
  const goesBack = ways.length > 0 && ways.every(({ to }) => comesBefore(to, path));
  if (!goesBack || source === undefined || source.body.some(({ text }) => LAST_WORDS.test(text)))
    return undefined;
  const [only, ...others] = nextInOrder(tree, path);
  return others.length === 0 ? only : undefined;
}
