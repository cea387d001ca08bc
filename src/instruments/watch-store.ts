import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { opendir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { RUN_PHASES } from "../core/run/phase.js";
import { LOCK_TAKEN_OVER } from "../store/disk/fenced-lock.js";
import type { Store } from "../store/store.js";
import { countEvent } from "./count-events.js";
import type { LabelValues } from "./label-values.js";
import type { Meters } from "./meters.js";

/** How often gauges are set anew. */
const LOOK_MS = 5_000;
/** The store is measured less often: that is a look at each of its files. */
const MEASURE_MS = 300_000;
const NANOSECONDS = 1e9;
/** How long the timer runs by whose delay the event loop's is measured: so much it says when there is none. */
const TICK_MS = 10;

/** Counts what runs write down and what happens to locks, and looks at the store now and then, until the returned function is called. */
export function watchStore(meters: Meters, models: LabelValues, store: Store): () => void {
  const over = new AbortController();
  const unobserve = store.runs.observe((event) => countEvent(meters, models, event));
  const onTakeover = (): void => meters.count("takeovers", {});
  subscribe(LOCK_TAKEN_OVER, onTakeover);
  meters.count("takeovers", {}, 0); // a series that begins with the first takeover would hide it
  meters.count("guardRefusals", {}, 0);
  const delay = monitorEventLoopDelay({ resolution: TICK_MS });
  delay.enable();
  void repeat(LOOK_MS, over.signal, async () => {
    const delays = { p50: delay.percentile(50), p99: delay.percentile(99), max: delay.max };
    // Before the first timer the histogram holds no number.
    for (const [stat, value] of delay.count > 0 ? Object.entries(delays) : []) {
      meters.set("eventLoop", Math.max(0, value / NANOSECONDS - TICK_MS / 1_000), { stat });
    }
    delay.reset();
    await lookAtRuns(meters, store);
  });
  void repeat(MEASURE_MS, over.signal, async () => {
    meters.set("storeBytes", await bytesIn(store.dir, over.signal), {});
  });
  return () => {
    over.abort();
    delay.disable();
    unsubscribe(LOCK_TAKEN_OVER, onTakeover);
    unobserve();
  };
}

/** What cannot be looked at now may be the next time: a gauge keeps its value. */
async function repeat(pauseMs: number, signal: AbortSignal, look: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await look().catch(() => undefined);
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

async function lookAtRuns(meters: Meters, store: Store): Promise<void> {
  const { bavail, bsize } = await statfs(store.dir);
  meters.set("storeFree", bavail * bsize, {});
  const { runs } = await store.runs.surveyRuns();
  for (const phase of RUN_PHASES) {
    meters.set("runs", runs.filter((run) => run.phase === phase).length, { phase });
  }
  // A run's phase is what it was last updated for.
  const asked = runs.filter(({ phase }) => phase === "waiting-user");
  const since = Math.min(...asked.map(({ lastUpdatedAt }) => Date.parse(lastUpdatedAt)), Date.now());
  meters.set("oldestQuestion", (Date.now() - since) / 1_000, {});
}

/** What the files of a directory and below hold, links not followed. What goes away meanwhile counts for nothing. */
async function bytesIn(dir: string, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  const entries = await opendir(dir).catch(() => undefined);
  if (entries === undefined) return 0;
  for await (const entry of entries) {
    signal.throwIfAborted();
    const path = join(dir, entry.name);
    if (entry.isDirectory()) bytes += await bytesIn(path, signal);
    else if (entry.isFile())
      bytes += await stat(path).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return bytes;
}
