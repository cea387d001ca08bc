import type { RunRow } from "../api-run.js";

/** Runs as far as somebody has looked, newest first. */
export interface ListedRuns {
  readonly runs: readonly RunRow[];
  /** There are older ones. */
  readonly more: boolean;
}

export const NOTHING_LISTED: ListedRuns = { runs: [], more: true };

/** Of which runs a page of the listing is: of those that began at that time or before; of all where it is undefined. */
type Before = string | undefined;

export interface ListingNeeds {
  /** So many runs, where there are. */
  readonly wanted: number;
  /** The first one that is seen. */
  readonly seen: number;
  readonly ask: (before: Before) => Promise<ListedRuns>;
}

/** A list brought up to date: its newest runs and those that are seen, or, where more are wanted, older ones. */
export async function listedAnew(
  listed: ListedRuns,
  { wanted, seen, ask }: ListingNeeds,
): Promise<ListedRuns> {
  if (listed.runs.length > 0 && wanted > listed.runs.length && listed.more) return withOlder(listed, ask);
  const newest = await ask(undefined);
  const known = withPage(listed, newest, undefined);
  const first = known.runs[seen];
  if (first === undefined || seen < newest.runs.length / 2) return known;
  return withPage(known, await ask(first.startedAt), first.startedAt);
}

async function withOlder(listed: ListedRuns, ask: ListingNeeds["ask"]): Promise<ListedRuns> {
  const last = listed.runs.at(-1)?.startedAt;
  const page = await ask(last);
  const longer = withPage(listed, page, last);
  // More than a page of runs that began at one moment: the next page would be the same.
  return page.runs.at(-1)?.startedAt === last ? { ...longer, more: false } : longer;
}

/** A list with a page of the listing in place of what it had there. */
function withPage({ runs, more }: ListedRuns, page: ListedRuns, before: Before): ListedRuns {
  const last = page.more ? (page.runs.at(-1)?.startedAt ?? "") : "";
  const newer = before === undefined ? [] : runs.filter(({ startedAt }) => startedAt > before);
  const older = runs.filter(({ startedAt }) => startedAt <= last);
  // More have begun than a page has: those between it and what was known are missing.
  const isGap = before === undefined && older.length === runs.length && !page.runs.some(isAmong(runs));
  const rest = isGap ? [] : older;
  return { runs: eachOnce([...newer, ...page.runs, ...rest]), more: rest.length === 0 ? page.more : more };
}

/** What a run is known by in a list: runs of other workflows may have its id. */
export function keyOf({ workflowId, runId }: RunRow): string {
  return `${workflowId} ${runId}`;
}

function isAmong(runs: readonly RunRow[]): (run: RunRow) => boolean {
  const keys = new Set(runs.map(keyOf));
  return (run) => keys.has(keyOf(run));
}

/** Of one that was retried, or is on two pages, the first: it is the newest. */
function eachOnce(runs: readonly RunRow[]): readonly RunRow[] {
  const first = new Map<string, RunRow>();
  for (const run of runs) if (!first.has(keyOf(run))) first.set(keyOf(run), run);
  return [...first.values()];
}
