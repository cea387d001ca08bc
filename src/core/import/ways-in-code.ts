import { tokensInBody } from "./body-tokens.js";
import { directiveOf } from "./directives.js";
import type { References } from "./references.js";
import type { SourceText } from "./source-text.js";
import type { SourceTree } from "./source-tree.js";
import { comesBefore, isStepFile, resumesRun } from "./step-files.js";

/** The steps that lines in blocks of code lead to, each with the first such line. None before this one: templates begin with theirs. */
export function waysInCode(
  tree: SourceTree,
  path: string,
  source: SourceText,
  references: References,
): ReadonlyMap<string, number> {
  const ways = new Map<string, number>();
  for (const { line, token, before } of tokensInBody(source.body)) {
    const target = line.isCode ? references.resolve(token.text) : undefined;
    if (target?.kind !== "file" || target.path === path || ways.has(target.path)) continue;
    if (!isStepFile(tree, target.path) || resumesRun(target.path) || comesBefore(target.path, path)) continue;
    if (directiveOf({ ...line, isCode: false }, token, before).kind === "go")
      ways.set(target.path, line.number);
  }
  return ways;
}
