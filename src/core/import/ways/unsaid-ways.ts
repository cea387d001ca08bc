import { MAX_NAMES, tokensInBody } from "../words/body-tokens.js";
import { wordsUnknownAt } from "../words/directives.js";
import { asCase, firstStepsAmong } from "./first-steps.js";
import { leadsOnElsewhere, whenElsewhere } from "../words/other-languages.js";
import type { References, Token } from "../source/references.js";
import { type SourceLine, type SourceText, withoutMarks } from "../source/source-text.js";
import { type SourceTree, folderOf } from "../source/source-tree.js";
import { comesBefore, numeralOf, resumesRun, stepsBelow } from "../source/step-files.js";
import { labelOf } from "../words/way-label.js";

/** "Suivre : `./step-03-cup.md`": whatever the words are, they lead to it. */
const AFTER_COLON = /[:：]\s{0,4}[`*"'([]{0,4}$/;

const MAX_WORDS = 300;

/** A way that a line names without a word that is known to lead on, such as one of another language. */
export interface UnsaidWay {
  readonly to: string;
  readonly line: number;
  readonly label: string;
  readonly condition?: string;
  readonly isDefault: boolean;
  readonly words: string;
  /** A word of its language is known to lead there. */
  readonly isSaid: boolean;
}

/**
 * Where a text leads that says so in no known words: to the steps after it that are items of a menu by their letter, and those
 * beside them that a line ends in; without a menu to the nearest one that it names. Steps without numbers that a document names are
 * its cases.
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
  const back = new Map<string, UnsaidWay>();
  const led = new Set<string>();
  for (const { target, line, token } of unsaidNames(source, references, steps, path)) {
    const way = wayAt(target, line, token);
    if (comesBefore(target, path)) {
      if (way.isSaid && path !== entry.document && !back.has(target)) back.set(target, way);
      continue;
    }
    if (AFTER_COLON.test(line.text.slice(0, token.at))) led.add(target);
    const known = ways.get(target);
    const isBetter = known !== undefined && way.isSaid && !known.isSaid && known.label.length > 1;
    if (known === undefined || isBetter || (known.label.length > 1 && way.label.length === 1))
      ways.set(target, way);
  }
  const items = [...ways.values()].filter(({ label }) => label.length === 1);
  if (items.length > 0)
    return [...ways.values()]
      .filter((way) => items.includes(way) || led.has(way.to))
      .concat(...back.values());
  const named = [...ways.keys()];
  const areCases = path === entry.document && named.every((step) => numeralOf(step) === undefined);
  const firsts = areCases ? named.map(asCase) : firstStepsAmong(named, path);
  const isOne = firsts.length === 1;
  const labels = new Map(firsts.map(({ path: to, label }) => [to, label]));
  return [...ways.values()]
    .flatMap((way) => {
      const label = labels.get(way.to);
      if (label === undefined) return [];
      // Of several one whose line has no word for it is called as its mode, or as its step.
      return [{ ...way, label: isOne || way.label !== "next" ? way.label : label, isDefault: isOne }];
    })
    .concat(...back.values());
}

/** What a line says of a way: its letter, or when, where the words for it are known. */
function wayAt(to: string, line: SourceLine, token: Token): UnsaidWay {
  const own = labelOf(line.text, token.at);
  const words = withoutMarks(line.text.slice(0, MAX_WORDS));
  const when = own.label === "next" ? whenElsewhere(line.text.slice(0, token.at)) : undefined;
  const said = when === undefined ? own : { ...own, label: when, condition: words };
  return { to, line: line.number, ...said, words, isSaid: leadsOnElsewhere(line.text) };
}

/** The steps that lines of a text name in no known words. */
function* unsaidNames(
  source: SourceText,
  references: References,
  steps: ReadonlySet<string>,
  path: string,
): Generator<{ readonly target: string; readonly line: SourceLine; readonly token: Token }> {
  let named = 0;
  for (const { line, token, before } of tokensInBody(source.body)) {
    const target = line.isCode ? undefined : references.resolve(token.text);
    if (target?.kind !== "file" || target.path === path) continue;
    named += 1;
    if (named > MAX_NAMES) return;
    if (!steps.has(target.path) || resumesRun(target.path) || !wordsUnknownAt(line, token, before)) continue;
    yield { target: target.path, line, token };
  }
}

/** Those of them that no way of the step leads to, with the first line of each: a way back may be said so. */
export function unsaidBeside(
  tree: SourceTree,
  from: string,
  source: SourceText,
  references: References,
  { document, led }: { readonly document: string; readonly led: ReadonlySet<string> },
): readonly UnsaidWay[] {
  const steps = new Set(stepsBelow(tree, folderOf(document)));
  const found = new Map<string, UnsaidWay>();
  if (from === document || !steps.has(from)) return [];
  for (const { target, line, token } of unsaidNames(source, references, steps, from)) {
    if (led.has(target) || found.has(target)) continue;
    found.set(target, wayAt(target, line, token));
  }
  return [...found.values()];
}
