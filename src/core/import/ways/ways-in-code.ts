import { tokensInBody } from "../words/body-tokens.js";
import { conditionsAbove } from "../words/conditions-above.js";
import { type Directive, directiveOf } from "../words/directives.js";
import type { References } from "../source/references.js";
import type { SourceLine, SourceText } from "../source/source-text.js";
import type { SourceTree } from "../source/source-tree.js";
import { comesBefore, isStepFile, resumesRun } from "../source/step-files.js";

/** What a line in a block of code says of a way. */
export interface WayInCode {
  readonly line: number;
  readonly way: Extract<Directive, { kind: "go" }>;
}

/** The steps that lines in blocks of code lead to, each with the first such line. None before this one: templates begin with theirs. */
export function waysInCode(
  tree: SourceTree,
  path: string,
  source: SourceText,
  references: References,
): ReadonlyMap<string, WayInCode> {
  const ways = new Map<string, WayInCode>();
  const above = conditionsAbove(source.body.map(asText));
  for (const { line, token, before } of tokensInBody(source.body)) {
    const target = line.isCode ? references.resolve(token.text) : undefined;
    if (target?.kind !== "file" || target.path === path || ways.has(target.path)) continue;
    if (!isStepFile(tree, target.path) || resumesRun(target.path) || comesBefore(target.path, path)) continue;
    const way = directiveOf(asText(line), token, before, above.get(line.number));
    if (way.kind === "go") ways.set(target.path, { line: line.number, way });
  }
  return ways;
}

function asText(line: SourceLine): SourceLine {
  return { ...line, isCode: false };
}
