import { expect, test } from "vitest";
import type { RunRow } from "../../../src/page/api-run.js";
import { type ListedRuns, NOTHING_LISTED, listedAnew } from "../../../src/page/web/listed-runs.js";

const PAGE = 200;

/** Runs of a second each, and a listing of them that counts what it is asked. */
class Listing {
  runs: RunRow[] = [];
  readonly asked: (string | undefined)[] = [];

  begin(count: number): this {
    for (let begun = 0; begun < count; begun += 1) this.add(this.runs.length);
    return this;
  }

  add(second: number, id = `${this.runs.length}`): void {
    const startedAt = new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();
    this.runs.unshift({
      runId: id,
      workflowId: `run-${id}`,
      phase: "running",
      paused: false,
      startedAt,
      taskQueue: "q",
      kind: "graph",
    });
  }

  ask = (before?: string): Promise<ListedRuns> => {
    this.asked.push(before);
    const fit = this.runs.filter(({ startedAt }) => before === undefined || startedAt <= before);
    return Promise.resolve({ runs: fit.slice(0, PAGE), more: fit.length > PAGE });
  };
}

async function scrolled(listing: Listing, wanted: number): Promise<ListedRuns> {
  let listed = NOTHING_LISTED;
  while (listed.more && listed.runs.length < wanted) {
    listed = await listedAnew(listed, { wanted: listed.runs.length + PAGE, seen: 0, ask: listing.ask });
  }
  return listed;
}

function idsOf({ runs }: Pick<ListedRuns, "runs">): readonly string[] {
  return runs.map(({ runId }) => runId);
}

test("who scrolls through thousands of runs has each page of them asked for once", async () => {
  const listing = new Listing().begin(5_000);
  const listed = await scrolled(listing, 5_000);
  expect(idsOf(listed)).toEqual(idsOf(listing));
  expect(listed.more).toBe(false);
  expect(listing.asked.length).toBeLessThan(30);
  expect(new Set(listing.asked).size).toBe(listing.asked.length);
});

test("however many are listed, the newest and those that are seen are asked for again, and no others", async () => {
  const listing = new Listing().begin(2_000);
  const listed = await scrolled(listing, 1_500);
  listing.runs = listing.runs.map((run) => ({ ...run, phase: "completed" }));
  listing.asked.length = 0;
  const seen = 1_000;
  const { runs } = await listedAnew(listed, { wanted: 0, seen, ask: listing.ask });
  expect(listing.asked).toEqual([undefined, listed.runs[seen]?.startedAt]);
  const completed = runs.flatMap(({ phase }, at) => (phase === "completed" ? [at] : []));
  expect(completed).toEqual([...Array(PAGE).keys(), ...[...Array(PAGE).keys()].map((at) => seen + at)]);
  expect(idsOf({ runs })).toEqual(idsOf(listed));
  listing.asked.length = 0;
  await listedAnew(listed, { wanted: 0, seen: 20, ask: listing.ask });
  expect(listing.asked).toEqual([undefined]);
});

test("runs that begin come on top, and none of those below is lost or there twice", async () => {
  const listing = new Listing().begin(700);
  const listed = await scrolled(listing, 500);
  listing.begin(150);
  const grown = await listedAnew(listed, { wanted: 0, seen: 0, ask: listing.ask });
  expect(idsOf(grown)).toEqual(idsOf(listing).slice(0, listed.runs.length + 150));
  const longer = await listedAnew(grown, { wanted: 850, seen: 0, ask: listing.ask });
  expect(idsOf(longer)).toEqual(idsOf(listing).slice(0, longer.runs.length));
  expect(longer.runs.length).toBeGreaterThan(grown.runs.length);
});

test("where more have begun than a page has, the list has no gap", async () => {
  const listing = new Listing().begin(700);
  const listed = await scrolled(listing, 500);
  listing.begin(PAGE + 1);
  const { runs, more } = await listedAnew(listed, { wanted: 0, seen: 0, ask: listing.ask });
  expect(idsOf({ runs })).toEqual(idsOf(listing).slice(0, PAGE));
  expect(more).toBe(true);
});

test("a run that goes on anew is listed where it is now, and one that is gone no longer", async () => {
  const listing = new Listing().begin(450);
  const listed = await scrolled(listing, 450);
  listing.runs = listing.runs.filter(({ runId }) => runId !== "100" && runId !== "440");
  listing.add(450, "100");
  const { runs } = await listedAnew(listed, { wanted: 0, seen: 0, ask: listing.ask });
  expect(idsOf({ runs })).toEqual(idsOf(listing));
});

test("runs that began at one moment are all listed, and more of them than a page has end the list", async () => {
  const listing = new Listing().begin(150);
  for (let count = 0; count < 100; count += 1) listing.add(200);
  listing.begin(150);
  const few = await scrolled(listing, 400);
  expect(idsOf(few).toSorted()).toEqual(idsOf(listing).toSorted());
  const many = new Listing();
  for (let count = 0; count <= 2 * PAGE; count += 1) many.add(1);
  expect(await scrolled(many, 1_000)).toMatchObject({ more: false });
});
