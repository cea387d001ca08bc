import { RE2JS } from "re2js";
import { indexIn } from "../../core/find-text.js";
import { Refusal } from "../sandbox/faults.js";

/** Where a pattern stands in a line, in UTF-16 code units. */
export interface Hit {
  readonly start: number;
  readonly end: number;
}

export interface Finder {
  /** The first hit in a line; undefined when there is none in the part that is looked at. */
  readonly find: (line: string) => Hit | undefined;
  /** How much of a line is looked at, in UTF-16 code units. */
  readonly maxLineLength: number;
  /** Bytes that every hit contains, to pass over a text quickly; undefined when nothing is known. */
  readonly needle: Buffer | undefined;
}

const MAX_PATTERN_LENGTH = 1000;
const MAX_PROGRAM_SIZE = 4000;
/** Instructions times characters: what the slowest of RE2's machines does for one line, some 0.1 s. */
const MAX_LINE_WORK = 2_000_000;
const MAX_LINE_LENGTH = 64 * 1024;
const MAX_PLAIN_LINE_LENGTH = 8 * 1024 * 1024;

/**
 * Reads a pattern: `/expression/flags` is a regular expression in RE2's syntax, everything else a plain
 * substring. RE2 has no backtracking, so time is linear in the line; expression, compiled program and line
 * are bounded as well. Flags: `i`, `m`, `s`; `g` and `u` change nothing. Throws `TOOL_ARGS_INVALID`.
 */
export function parsePattern(pattern: string): Finder {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw invalid(`The pattern is longer than ${MAX_PATTERN_LENGTH} characters.`);
  }
  if (pattern === "") throw invalid("The pattern is empty.");
  if (/\p{Surrogate}/u.test(pattern)) throw invalid("The pattern holds half a surrogate pair.");
  const expression = /^\/(?<body>.+)\/(?<flags>[A-Za-z]*)$/su.exec(pattern)?.groups;
  if (expression !== undefined) return compile(expression["body"] ?? "", expression["flags"] ?? "");
  if (pattern.includes("\n")) throw invalid("The pattern holds a line break: a match lies within one line.");
  return {
    find: (line) => {
      const start = indexIn(line, pattern);
      return start === -1 ? undefined : { start, end: start + pattern.length };
    },
    maxLineLength: MAX_PLAIN_LINE_LENGTH,
    needle: Buffer.from(pattern),
  };
}

const FLAGS: Readonly<Record<string, number>> = {
  g: 0,
  u: 0,
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
};

function compile(body: string, letters: string): Finder {
  let flags = 0;
  for (const letter of letters) {
    const flag = Object.hasOwn(FLAGS, letter) ? FLAGS[letter] : undefined;
    if (flag === undefined) {
      throw invalid(
        `The regular expression has a flag "${letter}"; i, m, s, g and u exist. To search for a text that begins with a slash, escape it: /\\/text/.`,
      );
    }
    flags |= flag;
  }
  const program = compileProgram(body, flags);
  const maxLineLength = Math.min(MAX_LINE_LENGTH, Math.floor(MAX_LINE_WORK / program.programSize()));
  return {
    find: (line) => {
      if (!program.test(line)) return undefined; // without positions it is several times faster
      const matcher = program.matcher(line);
      return matcher.find() ? { start: matcher.start(), end: matcher.end() } : undefined;
    },
    maxLineLength,
    needle: undefined,
  };
}

const ESCAPE = /\\(?:x[0-9A-Fa-f]{2}|x\{|u[0-9A-Fa-f]{4}|u\{|c[A-Za-z]|.)/gsu;

/** Translation makes `k` of `\k` and `Z` of `\Z` without a word: whoever wrote them would search for something else. */
function refuseUnknownEscapes(body: string): void {
  for (const [escape] of body.matchAll(ESCAPE)) {
    if (!/^\\[A-Za-z89]$/.test(escape) || "dDwWsSbBnrtfvaAzpPQE".includes(escape.slice(1))) continue;
    throw invalid(`The regular expression has the escape ${escape}, which RE2 does not know.`);
  }
}

function compileProgram(body: string, flags: number): RE2JS {
  refuseUnknownEscapes(body);
  let program: RE2JS;
  try {
    program = RE2JS.compile(RE2JS.translateRegExp(body), flags);
  } catch {
    // Whatever the library says of a pattern, the pattern is at fault; its own text may quote it at length.
    throw invalid(
      "The regular expression is not valid RE2 syntax. Lookaround and backreferences do not exist, and repetitions are limited to 1000.",
    );
  }
  if (program.programSize() > MAX_PROGRAM_SIZE) {
    throw invalid("The regular expression is too large once its repetitions are written out.");
  }
  return program;
}

function invalid(message: string): Refusal {
  return new Refusal("TOOL_ARGS_INVALID", message);
}
