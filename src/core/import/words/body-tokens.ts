import { type Token, tokensOf } from "../source/references.js";
import type { SourceLine } from "../source/source-text.js";

/** So many names of files in a text are asked what is said of them: who has more lists data. */
export const MAX_NAMES = 2_000;

/** Each token of a body with the line it stands in and the line above it that is not empty. */
export function* tokensInBody(body: readonly SourceLine[]): Generator<{
  readonly line: SourceLine;
  readonly token: Token;
  readonly before: string;
}> {
  const targets = linkTargets(body);
  let before = "";
  for (const whole of body) {
    const text = whole.text.slice(0, MAX_LINE);
    const line = { ...whole, text };
    for (const token of tokensOf(text)) yield { line, token, before };
    if (targets.size > 0) for (const token of linksIn(text, targets)) yield { line, token, before };
    if (text.trim() !== "") before = text.slice(0, 400);
  }
}

const MAX_LINE = 4_000;
const TARGET = /^\s{0,3}\[([^\]]{1,80})\]:\s{0,8}<?([^\s>]{1,400})/;
const MAX_TARGETS = 500;

/** `[cup]: ./step-03-cup.md`: what `[the cup][cup]`, `[cup][]` and `[cup]` link to. */
function linkTargets(body: readonly SourceLine[]): ReadonlyMap<string, string> {
  const targets = new Map<string, string>();
  for (const { text, isCode } of body) {
    const [, label = "", target = ""] = (isCode ? null : TARGET.exec(text.slice(0, 600))) ?? [];
    if (label !== "" && targets.size < MAX_TARGETS) targets.set(label.toLowerCase(), target);
  }
  return targets;
}

function* linksIn(line: string, targets: ReadonlyMap<string, string>): Generator<Token> {
  for (const match of line.matchAll(/\[([^[\]]{1,80})\](?:\[([^[\]]{0,80})\])?(?![(:\]])/g)) {
    const [, words = "", label = ""] = match;
    const target = targets.get((label || words).toLowerCase());
    const [token] = target === undefined ? [] : tokensOf(target);
    if (token !== undefined) yield { text: token.text, at: match.index };
  }
}
