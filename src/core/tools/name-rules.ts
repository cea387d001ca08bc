import { addToList } from "../add-to-list.js";
import { NOT_ACCESSIBLE, NOT_WRITABLE, TEMPLATES } from "./protected-names.js";

/**
 * Names in `@project` that the tools keep away from, at any depth (contracts §7). A rule is a name or a path of names
 * (`.vscode/tasks.json`); `*` stands for any text within one name.
 */
export interface ProtectedPaths {
  /** Neither the entry nor anything below it can be written. */
  readonly notWritable: readonly string[];
  /** Neither the entry nor anything below it can be read, listed, searched or written. */
  readonly notAccessible: readonly string[];
  /** Exceptions from both. */
  readonly allowed: readonly string[];
}

export const DEFAULT_PROTECTED_PATHS: ProtectedPaths = {
  notWritable: NOT_WRITABLE,
  notAccessible: NOT_ACCESSIBLE,
  allowed: TEMPLATES,
};

export const NOTHING_PROTECTED: ProtectedPaths = { notWritable: [], notAccessible: [], allowed: [] };

export type Access = "read" | "write";

/**
 * The protected name that forbids this access, as it stands in the setting; undefined when none does. `names` are those
 * from the root of the mount on, of which the first `checked` are known to be free. An exception counts where it covers
 * what a rule has found.
 */
export function protectingRule(
  rules: ProtectedPaths,
  names: readonly string[],
  access: Access,
  checked = 0,
): string | undefined {
  const { hidden, unwritable, allowed, longest } = indexed(rules);
  const first = Math.max(0, checked - longest);
  const folded = names.slice(first).map(foldProtected);
  const fresh = checked - first;
  const exceptions = placesOf(allowed, folded);
  const forbids = ({ from, to }: FoundRule) =>
    to > fresh && !exceptions.some((other) => other.from <= from && other.to >= to);
  const found = placesOf(hidden, folded).find(forbids);
  if (found !== undefined || access === "read") return found?.rule;
  return placesOf(unwritable, folded).find(forbids)?.rule;
}

/**
 * `protectingRule` for names below a directory of the host: a rule that is a path of names (`.config/gh`) holds as well where
 * that directory is the first of them.
 */
export function protectingRulesIn(
  directory: string,
  rules: ProtectedPaths,
): (names: readonly string[], access: Access, checked?: number) => string | undefined {
  const above = directory.split(/[\\/]/u).filter((name) => name !== "");
  return (names, access, checked = 0) =>
    protectingRule(rules, [...above, ...names], access, above.length + checked);
}

interface FoundRule {
  readonly rule: string;
  readonly from: number;
  readonly to: number;
}

/** Where in a path the names of rules stand one after the other. */
function placesOf(index: RuleIndex, names: readonly string[]): readonly FoundRule[] {
  const places: FoundRule[] = [];
  for (const [from, name] of names.entries()) {
    const candidates = SHORT_NAME.test(name) ? index.all : [...(index.exact.get(name) ?? []), ...index.wild];
    for (const { rule, patterns } of candidates) {
      const to = from + patterns.length;
      if (to > names.length) continue;
      if (patterns.every((pattern, step) => fitsName(pattern, names[from + step] ?? "")))
        places.push({ rule, from, to });
    }
  }
  return places;
}

interface NamePattern {
  /** Folded, between the wildcards. */
  readonly parts: readonly string[];
  /** The beginning of the short name that old Windows file systems give such a file: `git` for `.git`. */
  readonly shortName: string | undefined;
}

interface Rule {
  readonly rule: string;
  readonly patterns: readonly NamePattern[];
}

/** Rules by their first name, so that most names cost one look. */
interface RuleIndex {
  readonly all: readonly Rule[];
  readonly exact: ReadonlyMap<string, readonly Rule[]>;
  readonly wild: readonly Rule[];
}

interface IndexedRules {
  readonly hidden: RuleIndex;
  readonly unwritable: RuleIndex;
  readonly allowed: RuleIndex;
  /** How many names the longest rule has. */
  readonly longest: number;
}

const indexes = new WeakMap<ProtectedPaths, IndexedRules>();

function indexed(rules: ProtectedPaths): IndexedRules {
  const known = indexes.get(rules);
  if (known !== undefined) return known;
  const [hidden, unwritable, allowed] = [
    indexOf(rules.notAccessible, true),
    indexOf(rules.notWritable, true),
    indexOf(rules.allowed, false), // a short name tells what a file may be, not what it is
  ];
  const all = [hidden, unwritable, allowed].flatMap((index) => index.all);
  const longest = Math.max(0, ...all.map(({ patterns }) => patterns.length));
  const made = { hidden, unwritable, allowed, longest };
  indexes.set(rules, made);
  return made;
}

function indexOf(texts: readonly string[], hasShortNames: boolean): RuleIndex {
  const patternsOf = (rule: string) => rule.split("/").map((segment) => patternOf(segment, hasShortNames));
  const all = texts.map((rule) => ({ rule, patterns: patternsOf(rule) }));
  const exact = new Map<string, Rule[]>();
  const wild: Rule[] = [];
  for (const item of all) {
    const [only, ...others] = item.patterns[0]?.parts ?? [];
    if (only === undefined || others.length > 0) wild.push(item);
    else addToList(exact, only, item);
  }
  return { all, exact, wild };
}

function patternOf(segment: string, hasShortName: boolean): NamePattern {
  const parts = segment.split("*").map(foldName);
  return { parts, shortName: hasShortName && parts.length === 1 ? shortNameOf(parts[0] ?? "") : undefined };
}

const SHORT_NAME = /^[^~]{1,6}~\d{1,6}(?:\..{0,3})?$/u;

function shortNameOf(name: string): string | undefined {
  const plain = name.replace(/^\.+/u, "");
  const stem = (plain.includes(".") ? plain.slice(0, plain.lastIndexOf(".")) : plain).replaceAll(
    /[. ]/gu,
    "",
  );
  return stem === "" ? undefined : stem.slice(0, 6);
}

function fitsName({ parts, shortName }: NamePattern, name: string): boolean {
  if (fitsParts(parts, name)) return true;
  return shortName !== undefined && SHORT_NAME.test(name) && name.split("~")[0] === shortName;
}

/**
 * What a case-insensitive file system could take a name for: without case, without composition and without
 * the code points that such systems ignore. A name that merely looks protected is refused as well; nobody
 * needs a `.ENV` that differs from `.env`.
 */
export function foldName(name: string): string {
  return name
    .normalize("NFD")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toUpperCase() // a long s is an s only as a capital
    .toLowerCase();
}

/** As `foldName`, and without what Windows leaves away: trailing dots and spaces, the name of a file's stream. */
function foldProtected(name: string): string {
  const folded = foldName(name);
  const colon = folded.indexOf(":");
  let end = colon > 0 ? colon : folded.length;
  while (end > 0 && ". ".includes(folded[end - 1] ?? "x")) end -= 1;
  return end === 0 ? folded : folded.slice(0, end);
}

/** Wildcard match in linear space and at most quadratic time over one file name (255 bytes). */
function fitsParts([first = "", ...rest]: readonly string[], name: string): boolean {
  const last = rest.pop();
  if (last === undefined) return first === name;
  if (!name.startsWith(first)) return false;
  let position = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return name.length - last.length >= position && name.endsWith(last);
}
