/** The shortest and the longest pause between two looks at something. */
export interface Pace {
  readonly shortestMs: number;
  readonly longestMs: number;
}

/** The pause after a look: the shortest after news, a longer one each time after none. */
export function nextPause({ shortestMs, longestMs }: Pace, pauseMs: number, isNews: boolean): number {
  return isNews ? shortestMs : Math.min(Math.max(pauseMs, shortestMs) * 1.5, longestMs);
}
