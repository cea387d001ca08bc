/**
 * A day of one host, and of one history shard, as waiting lines: runs come by chance, each walks its turns, and each turn waits for a
 * model and then works on a core and on the disk. The same input gives the same figures, and no clock or machine is asked.
 */

/** What a run costs and a host has. */
export interface SimulatedWork {
  readonly turnsPerRun: number;
  /** Mean time of a model's answer, in seconds. */
  readonly modelSeconds: number;
  /** CPU of the worker for one turn. */
  readonly cpuMs: number;
  /** Of the store's disk for one turn. */
  readonly diskMs: number;
}

export interface SimulatedHost {
  readonly cores: number;
  /** Model turns that it has under way at most. */
  readonly activities: number;
}

/** What a day came to. */
export interface SimulatedDay {
  readonly runs: number;
  readonly turns: number;
  /** In the busiest hour. */
  readonly turnsASecond: number;
  /** Of what all cores could have done: over the day, and in the busiest hour. */
  readonly busy: number;
  readonly busiest: number;
  readonly mostOpen: number;
  readonly mostInFlight: number;
  /** What a turn waited for others, in milliseconds: for a slot, a core and the disk together. */
  readonly waitMs: { readonly p50: number; readonly p99: number; readonly most: number };
}

/** How many runs come in each hour, by the mean: an office day, at its peak three times the mean. */
const OFFICE_DAY: readonly number[] = [
  0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.5, 1.2, 2.2, 3, 2.8, 1.6, 2, 2.6, 2.4, 1.8, 1.1, 0.7, 0.21,
  0.21, 0.21, 0.21, 0.21,
];
const HOUR = 3_600;
const DAY = 24 * HOUR;

/** A day on which so many runs are begun on one host. */
export function simulateDay(runs: number, work: SimulatedWork, host: SimulatedHost, seed = 1): SimulatedDay {
  const random = randomFrom(seed);
  const slots = new Station(host.activities);
  const cores = new Station(host.cores);
  const disk = new Station(1);
  const waits = new Waits();
  const turnsLeft: number[] = [];
  const waited: number[] = [];
  const cpuByHour = new Float64Array(25);
  const turnsByHour = new Float64Array(25);
  const events = new Events();
  let [open, mostOpen, inFlight, mostInFlight, turns] = [0, 0, 0, 0, 0];
  // Of each run one event is due: it asks, its answer is there, it has worked on a core, it is written down.
  const next = { ask: 0, answered: 1, worked: 2, written: 3 } as const;
  const arrivals = arrivalsOfDay(runs, random);
  for (const [run, at] of arrivals.entries()) events.add(at, run * 4 + next.ask);
  for (let event = events.take(); event !== undefined; event = events.take()) {
    const { at } = event;
    const [run, stage] = [Math.floor(event.what / 4), event.what % 4];
    const hour = Math.min(24, Math.floor(at / HOUR));
    if (stage === next.ask) {
      if (turnsLeft[run] === undefined) {
        turnsLeft[run] = work.turnsPerRun;
        mostOpen = Math.max(mostOpen, (open += 1));
      }
      const latency = answerTime(work.modelSeconds, random);
      const end = slots.serve(at, latency);
      waited[run] = end - latency - at;
      mostInFlight = Math.max(mostInFlight, (inFlight += 1));
      events.add(end, run * 4 + next.answered);
    } else if (stage === next.answered) {
      inFlight -= 1;
      const seconds = work.cpuMs / 1_000;
      const end = cores.serve(at, seconds);
      cpuByHour[hour] = (cpuByHour[hour] ?? 0) + seconds;
      waited[run] = (waited[run] ?? 0) + end - seconds - at;
      events.add(end, run * 4 + next.worked);
    } else if (stage === next.worked) {
      const seconds = work.diskMs / 1_000;
      const end = disk.serve(at, seconds);
      waited[run] = (waited[run] ?? 0) + end - seconds - at;
      events.add(end, run * 4 + next.written);
    } else {
      turns += 1;
      turnsByHour[hour] = (turnsByHour[hour] ?? 0) + 1;
      waits.add((waited[run] ?? 0) * 1_000);
      turnsLeft[run] = (turnsLeft[run] ?? 1) - 1;
      if (turnsLeft[run] === 0) open -= 1;
      else events.add(at, run * 4 + next.ask);
    }
  }
  const used = cpuByHour.reduce((sum, seconds) => sum + seconds, 0);
  return {
    runs: arrivals.length,
    turns,
    turnsASecond: Math.max(...turnsByHour) / HOUR,
    busy: used / (host.cores * DAY),
    busiest: Math.max(...cpuByHour) / (host.cores * HOUR),
    mostOpen,
    mostInFlight,
    waitMs: waits.figures(),
  };
}

/** What a write waits for in one of so many shards, each of which does one write at a time, in the busiest hour. In milliseconds. */
export function simulateShard(
  writesASecond: number,
  shards: number,
  writeMs: number,
  seed = 1,
): SimulatedDay["waitMs"] {
  const random = randomFrom(seed);
  const shard = new Station(1);
  const waits = new Waits();
  for (let at = gap(writesASecond / shards, random); at < HOUR; at += gap(writesASecond / shards, random)) {
    const seconds = writeMs / 1_000;
    waits.add((shard.serve(at, seconds) - seconds - at) * 1_000);
  }
  return waits.figures();
}

function arrivalsOfDay(runs: number, random: () => number): readonly number[] {
  const arrivals: number[] = [];
  for (const [hour, share] of OFFICE_DAY.entries()) {
    const rate = (runs * share) / DAY;
    for (let at = gap(rate, random); at < HOUR; at += gap(rate, random)) arrivals.push(hour * HOUR + at);
  }
  return arrivals;
}

/** Seconds to the next one, where they come by chance. */
function gap(rate: number, random: () => number): number {
  return -Math.log(1 - random()) / rate;
}

const STAGES_OF_AN_ANSWER = 4;

/** Most answers take about the mean, a few three times as long. */
function answerTime(mean: number, random: () => number): number {
  let seconds = 0;
  for (let stage = 0; stage < STAGES_OF_AN_ANSWER; stage += 1)
    seconds += gap(STAGES_OF_AN_ANSWER / mean, random);
  return seconds;
}

/** Servers that work side by side, and take who comes first. */
class Station {
  private readonly freeAt = new Events();

  constructor(servers: number) {
    for (let server = 0; server < servers; server += 1) this.freeAt.add(0, server);
  }

  /** When somebody who comes now will have been served. To be called in the order of coming. */
  serve(at: number, seconds: number): number {
    const free = this.freeAt.take();
    const end = Math.max(at, free?.at ?? at) + seconds;
    this.freeAt.add(end, free?.what ?? 0);
    return end;
  }
}

/** What is due, the earliest first: a binary heap. */
class Events {
  private readonly times: number[] = [];
  private readonly whats: number[] = [];

  add(at: number, what: number): void {
    const { times, whats } = this;
    let place = times.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if ((times[above] ?? 0) <= at) break;
      times[place] = times[above] ?? 0;
      whats[place] = whats[above] ?? 0;
      place = above;
    }
    times[place] = at;
    whats[place] = what;
  }

  take(): { readonly at: number; readonly what: number } | undefined {
    const { times, whats } = this;
    const [at, what] = [times[0], whats[0]];
    const [lastAt, lastWhat] = [times.pop(), whats.pop()];
    if (at === undefined || what === undefined || lastAt === undefined || lastWhat === undefined)
      return undefined;
    if (times.length > 0) this.sink(lastAt, lastWhat);
    return { at, what };
  }

  private sink(at: number, what: number): void {
    const { times, whats } = this;
    const end = times.length;
    let place = 0;
    for (let below = 1; below < end; below = 2 * place + 1) {
      const right = below + 1;
      const least = right < end && (times[right] ?? 0) < (times[below] ?? 0) ? right : below;
      if ((times[least] ?? 0) >= at) break;
      times[place] = times[least] ?? 0;
      whats[place] = whats[least] ?? 0;
      place = least;
    }
    times[place] = at;
    whats[place] = what;
  }
}

const LONGEST_MS = 600_000;

/** How long they waited, by the millisecond. */
class Waits {
  private readonly counts = new Float64Array(LONGEST_MS + 1);
  private count = 0;
  private most = 0;

  add(ms: number): void {
    const place = Math.min(LONGEST_MS, Math.round(ms));
    this.counts[place] = (this.counts[place] ?? 0) + 1;
    this.count += 1;
    this.most = Math.max(this.most, ms);
  }

  figures() {
    return { p50: this.percentile(0.5), p99: this.percentile(0.99), most: Math.round(this.most) };
  }

  private percentile(share: number): number {
    let left = this.count * share;
    for (let ms = 0; ms <= LONGEST_MS; ms += 1) {
      left -= this.counts[ms] ?? 0;
      if (left <= 0) return ms;
    }
    return LONGEST_MS;
  }
}

/** Numbers from 0 up to, not including, 1: the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
