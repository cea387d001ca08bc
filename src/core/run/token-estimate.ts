/**
 * Tokens of a text, without any model's tokenizer: a quarter for each ASCII character, half for other characters below
 * U+0800 (accents, Cyrillic, Greek), one for the rest (CJK), two for a surrogate pair (emoji). Real tokenizers differ by
 * up to two thirds from it; {@link correctionOf} takes that back where a provider counts.
 */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    quarters += code < 0x80 ? 1 : code < 0x800 ? 2 : 4;
  }
  return Math.ceil(quarters / 4);
}

/** A request that was answered: what it was estimated at, and what the provider has counted. */
export interface CountedRequest {
  readonly sentTokens?: number;
  readonly promptTokens: number;
  /** The provider has counted nothing. */
  readonly estimated?: boolean;
}

/** A count that is smaller by more than this is none of the whole request: some servers leave out what they have cached. */
const LEAST_CORRECTION = 0.5;
const MOST_CORRECTION = 4;

/** By what estimates have to be multiplied, as the newest request says whose tokens the provider has counted; else 1. */
export function correctionOf(requests: readonly CountedRequest[]): number {
  for (let index = requests.length - 1; index >= 0; index -= 1) {
    const { sentTokens = 0, promptTokens, estimated = false } = requests[index] ?? { promptTokens: 0 };
    const ratio = sentTokens === 0 || estimated ? 0 : promptTokens / sentTokens;
    if (ratio >= LEAST_CORRECTION) return Math.min(ratio, MOST_CORRECTION);
  }
  return 1;
}
