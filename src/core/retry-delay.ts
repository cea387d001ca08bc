/** Which try it is, and how the next ones are spaced; intervals in milliseconds, as an activity is told of them. */
interface Tries {
  readonly attempt: number;
  readonly retryPolicy?:
    | {
        readonly initialInterval?: string | number | undefined;
        readonly backoffCoefficient?: number | undefined;
        readonly maximumInterval?: string | number | undefined;
      }
    | undefined;
}

/**
 * The wait that somebody has asked for before the next try; undefined where the backoff waits as long by itself. What is asked for takes
 * the place of the backoff: one second, said each time, would use up the tries of a day in half a minute.
 */
export function beyondBackoff(
  wantedMs: number | undefined,
  { attempt, retryPolicy }: Tries,
): number | undefined {
  const { initialInterval = 0, backoffCoefficient = 1, maximumInterval } = retryPolicy ?? {};
  const grown = Number(initialInterval) * backoffCoefficient ** (attempt - 1);
  const backoffMs = maximumInterval === undefined ? grown : Math.min(grown, Number(maximumInterval));
  // Temporal takes a delay of nothing for the last attempt.
  return wantedMs !== undefined && wantedMs >= 1 && wantedMs > backoffMs ? wantedMs : undefined;
}
