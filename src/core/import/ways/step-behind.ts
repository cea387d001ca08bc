import { saysLast } from "./ends.js";
import type { SourceEdge } from "./source-edge.js";
import type { SourceText } from "../source/source-text.js";
import type { SourceTree } from "../source/source-tree.js";
import { comesBefore, nextInOrder } from "../source/step-files.js";

/** A case that is no part of the usual way, as "after the user's word" would be. */
const IN_A_CASE = /\b(?:if|unless|wenn|falls)\b/i;

/**
 * The one step that comes by its number after a step that says only when to go back, or when to pass that one over; undefined for any
 * other, and for a last one.
 */
export function stepBehind(
  tree: SourceTree,
  path: string,
  ways: readonly SourceEdge[],
  source: SourceText | undefined,
): string | undefined {
  const [next, ...others] = nextInOrder(tree, path);
  if (next === undefined || others.length > 0 || ways.length === 0 || source === undefined) return undefined;
  const isElsewhere = ({ to, label, condition = "" }: SourceEdge): boolean =>
    comesBefore(to, path) || (label.length > 1 && IN_A_CASE.test(condition) && comesBefore(next, to));
  const isLast = saysLast(source);
  return isLast || !ways.every(isElsewhere) ? undefined : next;
}
