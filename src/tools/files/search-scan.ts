import type { Finder, Hit } from "./search-pattern.js";
import { jsonBytes } from "../../core/json.js";

/** A match as the model sees it; lines and columns count from 1, columns in UTF-16 code units. */
export interface LineMatch {
  readonly line: number;
  readonly column: number;
  readonly text: string;
  readonly before: readonly string[];
  readonly after: string[];
}

export interface Context {
  readonly before: number;
  readonly after: number;
}

/** What a search may still return. One budget serves all files of a search. */
export class ResultBudget {
  /** Whether something was left out. */
  cut = false;
  private matchesLeft: number;
  private bytesLeft: number;

  constructor(matchesLeft: number, bytesLeft: number) {
    this.matchesLeft = matchesLeft;
    this.bytesLeft = bytesLeft;
  }

  copy(): ResultBudget {
    return Object.assign(new ResultBudget(this.matchesLeft, this.bytesLeft), { cut: this.cut });
  }

  /** Pays for a match; false when it does not fit, and then nothing after it does. */
  takeMatch(match: LineMatch, path: string): boolean {
    if (this.cut || this.matchesLeft === 0 || !this.takeBytes(itemBytes({ path, ...match }))) {
      this.cut = true;
      return false;
    }
    this.matchesLeft -= 1;
    return true;
  }

  takeLine(text: string): boolean {
    if (this.takeBytes(itemBytes(text))) return true;
    this.cut = true;
    return false;
  }

  private takeBytes(bytes: number): boolean {
    if (bytes > this.bytesLeft) return false;
    this.bytesLeft -= bytes;
    return true;
  }
}

/** What an item takes in a list. */
function itemBytes(value: unknown): number {
  return jsonBytes(value) + 1;
}

const MAX_EXCERPT = 400;

/** Goes through one file's text line by line and collects matches with their context. */
export class FileScan {
  readonly matches: LineMatch[] = [];
  /** Whether part of a line was not looked at. */
  skippedText = false;
  private readonly recent: string[] = [];
  private waiting: LineMatch[] = [];
  private partial = "";
  private skipping = false;
  private lineNumber = 0;
  private full = false;
  private readonly path: string;
  private readonly finder: Finder;
  private readonly context: Context;
  private readonly budget: ResultBudget;

  constructor(path: string, finder: Finder, context: Context, budget: ResultBudget) {
    this.path = path;
    this.finder = finder;
    this.context = context;
    this.budget = budget;
  }

  /** Whether nothing more is wanted from this file, nor from any other. */
  get done(): boolean {
    return this.full && this.waiting.length === 0;
  }

  /** Takes the next piece of text; stops after each line, so that the caller can pause in between. */
  *lines(text: string): Generator<void> {
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1 && !this.done; end = text.indexOf("\n", from)) {
      this.endLine(text.slice(from, end));
      from = end + 1;
      yield;
    }
    if (this.done) return;
    if (!this.skipping) this.partial += text.slice(from);
    if (this.partial.length <= this.finder.maxLineLength) return;
    this.line(this.partial, true);
    this.partial = "";
    this.skipping = true;
    yield;
  }

  /** The file has ended: what follows its last newline is a line unless it is empty. */
  end(): void {
    if (!this.done && this.partial !== "") this.endLine("");
  }

  private endLine(rest: string): void {
    if (!this.skipping) this.line(this.partial + rest, false);
    this.partial = "";
    this.skipping = false;
  }

  private line(whole: string, unfinished: boolean): void {
    this.lineNumber += 1;
    const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole;
    const seen = line.slice(0, this.finder.maxLineLength);
    const hit = this.full ? undefined : this.hitIn(seen, unfinished || seen.length < line.length);
    this.feedContext(line);
    if (hit !== undefined) this.add(line, hit);
    if (this.context.before === 0) return;
    this.recent.push(excerpt(line, { start: 0, end: 0 }));
    if (this.recent.length > this.context.before) this.recent.shift();
  }

  /** A hit that touches the place where a long line was cut may be one of the cut (`$`, `\b`): not counted. */
  private hitIn(seen: string, isCut: boolean): Hit | undefined {
    const hit = this.finder.find(seen);
    if (!isCut || (hit !== undefined && hit.end < seen.length)) return hit;
    this.skippedText = true;
    return undefined;
  }

  private add(line: string, hit: Hit): void {
    const match: LineMatch = {
      line: this.lineNumber,
      column: hit.start + 1,
      text: excerpt(line, hit),
      before: [...this.recent],
      after: [],
    };
    if (!this.budget.takeMatch(match, this.path)) {
      this.full = true;
      return;
    }
    this.matches.push(match);
    if (this.context.after > 0) this.waiting.push(match);
  }

  private feedContext(line: string): void {
    if (this.waiting.length === 0) return;
    const text = excerpt(line, { start: 0, end: 0 });
    for (const match of this.waiting) {
      if (!this.budget.takeLine(text)) {
        this.full = true;
        this.waiting = [];
        return;
      }
      match.after.push(text);
    }
    this.waiting = this.waiting.filter((match) => match.after.length < this.context.after);
  }
}

/** A line, or of a long one the part around a hit; `…` stands for what was left out. */
function excerpt(line: string, hit: Hit): string {
  if (line.length <= MAX_EXCERPT) return line;
  const spare = Math.max(0, MAX_EXCERPT - (hit.end - hit.start));
  const start = wholePair(line, Math.max(0, hit.start - Math.floor(spare / 2)));
  const end = wholePair(line, Math.min(line.length, start + MAX_EXCERPT));
  return `${start > 0 ? "…" : ""}${line.slice(start, end)}${end < line.length ? "…" : ""}`;
}

/** Moves a cut that would split a surrogate pair to before the pair. */
function wholePair(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff && index > 0 ? index - 1 : index;
}
