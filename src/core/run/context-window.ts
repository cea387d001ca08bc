/** What a model's context allows: the tokens of request and answer together, and those that are asked for at most. */
export interface ContextLimits {
  readonly contextTokens: number;
  /** Absent where the answer's length is left to the server. */
  readonly maxTokens?: number | undefined;
}

/** Kept free for an answer whose length is not set, in tokens, and of a small context. */
const ROOM_FOR_ANSWER = 4_096;
const SHARE_FOR_ANSWER = 1 / 4;
/** Estimates are a little too small at times. */
const SAFETY = 0.95;
/** How far is folded once it has to be: in large steps, so that the requests between two of them begin the same. */
const SHARE_AFTER_FOLD = 1 / 2;
/** The oldest instructions stay longer than other results while they take no more than this of the room. */
const SHARE_OF_INSTRUCTIONS = 1 / 4;

/** Tokens that the answer is given. */
export function roomForAnswer({ contextTokens, maxTokens }: ContextLimits): number {
  return maxTokens ?? Math.min(ROOM_FOR_ANSWER, Math.floor(contextTokens * SHARE_FOR_ANSWER));
}

/** Tokens that a request should have: 0 where the answer alone takes the whole context. */
function roomForRequest(limits: ContextLimits): number {
  return Math.max(0, Math.floor((limits.contextTokens - roomForAnswer(limits)) * SAFETY));
}

/** What is left of the context for an answer at the least, where its length is not set. */
const LEAST_ANSWER = 256;

/** Tokens beyond which a request is sure not to fit. */
function mostForRequest({ contextTokens, maxTokens = LEAST_ANSWER }: ContextLimits): number {
  return Math.max(0, contextTokens - maxTokens);
}

/** A tool result in a request that could be left out. */
export interface FoldableResult {
  readonly callId: string;
  /** What it takes, and what the line would take that stands for it. */
  readonly tokens: number;
  readonly foldedTokens: number;
  /** The line that stands for it where it is of the newest answer. */
  readonly withheldTokens: number;
  /** It answers a call of the newest answer that has calls. */
  readonly isNewest: boolean;
  /** It tells the model what to do. */
  readonly isInstruction: boolean;
}

/** Which results are left out from now on, in the order of the request. */
export interface Folding {
  /** Older ones: a line says what was there. */
  readonly calls: readonly string[];
  /** Of the newest answer: the model is told to ask for less. */
  readonly withheld: readonly string[];
  /** Tokens of the request after it. */
  readonly size: number;
}

/** Tokens that a request should have, and those that it must not go beyond. */
export interface Room {
  readonly wanted: number;
  readonly most: number;
}

export function contextRoom(limits: ContextLimits): Room {
  return { wanted: roomForRequest(limits), most: mostForRequest(limits) };
}

/**
 * Which results of a request are left out so that it has the room it wants: none where it has; else older ones, the oldest
 * first, down to half of that room; where it would still go beyond the most, instructions, the newest first, and last the
 * largest of what was asked for just now. A result whose line is no shorter stays.
 */
export function foldToFit(size: number, { wanted, most }: Room, results: readonly FoldableResult[]): Folding {
  const chosen = new Set<string>();
  let left = size;
  const fold = (candidates: readonly FoldableResult[], goal: number): void => {
    for (const result of candidates) {
      if (left <= goal) return;
      const saved = savedBy(result);
      if (saved <= 0) continue;
      chosen.add(result.callId);
      left -= saved;
    }
  };
  if (size > wanted) {
    const instructions = instructionsAmong(results, wanted * SHARE_OF_INSTRUCTIONS);
    const older = results.filter((result) => !result.isNewest && !instructions.has(result));
    fold(older, Math.floor(wanted * SHARE_AFTER_FOLD));
    fold([...instructions].toReversed(), most);
    const newest = results.filter(({ isNewest }) => isNewest);
    fold(
      newest.toSorted((a, b) => b.tokens - a.tokens),
      most,
    );
  }
  const folded = results.filter(({ callId }) => chosen.has(callId));
  return {
    calls: folded.filter(({ isNewest }) => !isNewest).map(({ callId }) => callId),
    withheld: folded.filter(({ isNewest }) => isNewest).map(({ callId }) => callId),
    size: left,
  };
}

function savedBy({ tokens, foldedTokens, withheldTokens, isNewest }: FoldableResult): number {
  return tokens - (isNewest ? withheldTokens : foldedTokens);
}

function instructionsAmong(
  results: readonly FoldableResult[],
  mostTokens: number,
): ReadonlySet<FoldableResult> {
  const kept = new Set<FoldableResult>();
  let tokens = 0;
  for (const result of results) {
    if (!result.isInstruction || result.isNewest || tokens + result.tokens > mostTokens) continue;
    tokens += result.tokens;
    kept.add(result);
  }
  return kept;
}

/** A context shorter than this is none that a node's first messages fit in: whoever says so means something else. */
const LEAST_CREDIBLE = 512;

export function isCredible(contextTokens: number | undefined): contextTokens is number {
  return contextTokens !== undefined && contextTokens >= LEAST_CREDIBLE;
}

/**
 * The context's length after a provider has refused a request of `size` tokens, by our estimate, as too long: what it named,
 * where that explains the refusal; else no more than what it refused.
 */
export function learnedContext(size: number, named: number | undefined, maxTokens?: number): number {
  const refused = Math.max(1, size) + (maxTokens ?? 0);
  if (!isCredible(named)) return refused;
  const isExplained = size > roomForRequest({ contextTokens: named, maxTokens });
  return isExplained ? named : Math.min(named, refused);
}
