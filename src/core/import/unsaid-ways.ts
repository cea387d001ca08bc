import { labelOf, wordsUnknownAt, tokensInBody } from "./directives.js";
import { firstStepsAmong } from "./first-steps.js";
import type { References } from "./references.js";
import type { SourceText } from "./source-text.js";
import { type SourceTree, folderOf } from "./source-tree.js";
import { comesBefore, resumesRun, stepsBelow } from "./step-files.js";

/** "Suivre : `./step-03-cup.md`": whatever the words are, they lead to it. */
const AFTER_COLON = /[:：]\s{0,4}[`*"'([]{0,4}$/;

/** A way that a line names without a word that is known to lead on, such as one of another language. */
export interface UnsaidWay {
  readonly to: string;
  readonly line: number;
  readonly label: string;
  readonly condition?: string;
  readonly isDefault: boolean;
}

/**
 * Where a text leads that says so in no known words: to the steps after it that are items of a menu by their letter, and those
 * beside them that a line ends in; without a menu to the nearest one that it names.
 */
export function unsaidWays(
  tree: SourceTree,
  path: string,
  source: SourceText,
  references: References,
  entry: { readonly document: string },
): readonly UnsaidWay[] {
  const steps = new Set(stepsBelow(tree, folderOf(entry.document)));
  if (path !== entry.document && !steps.has(path)) return []; // it is material
  const ways = new Map<string, UnsaidWay>();
  const led = new Set<string>();
  for (const { line, token, before } of tokensInBody(source.body)) {
    const target = line.isCode ? undefined : references.resolve(token.text);
    if (target?.kind !== "file" || target.path === path) continue;
    if (!steps.has(target.path) || resumesRun(target.path) || comesBefore(target.path, path)) continue;
    if (!wordsUnknownAt(line, token, before)) continue;
    const way = { to: target.path, line: line.number, ...labelOf(line.text, token.at) };
    if (AFTER_COLON.test(line.text.slice(0, token.at))) led.add(target.path);
    const known = ways.get(target.path);
    if (known === undefined || (known.label.length > 1 && way.label.length === 1)) ways.set(target.path, way);
  }
  const items = [...ways.values()].filter(({ label }) => label.length === 1);
  if (items.length > 0) return [...ways.values()].filter((way) => items.includes(way) || led.has(way.to));
  const first = firstStepsAmong([...ways.keys()], path).map((step) => step.path);
  return [...ways.values()]
    .filter(({ to }) => first.includes(to))
    .map((way) => ({ ...way, isDefault: first.length === 1 }));
}
