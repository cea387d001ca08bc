import { type SimulatedDay, type SimulatedHost, simulateDay, simulateShard } from "./simulation.js";
import { commandLine, count, positionals } from "./usage.js";

/*
 * How many hosts and shards so many runs a day need. Nothing is run. Each input below is measured
 * (bench/README.md, docs/scaling.md) or assumed, and says which.
 */

/** For each size of steps, as measured by `bench -- pairs` and `bench:many -- --runs 1 --nodes 10` on the embedded server, of a turn. */
const STEPS = {
  turns: { cpuMs: 19.5, serverCpuMs: 17, events: 10.4, historyBytes: 3_520, actions: 2.87, syncs: 7.5 },
  nodes: { cpuMs: 11.5, serverCpuMs: 5.9, events: 3.1, historyBytes: 1_670, actions: 0.93, syncs: 4.8 },
} as const;
type StepSize = keyof typeof STEPS;

/** Measured: bytes in the store a run; memory of a worker, and of each run that it keeps. */
const STORE_BYTES_A_RUN = 150_000;
const WORKER_MIB = 200;
const RUN_MIB = 0.75;
const TURN_MIB = 2;
/** Assumed. */
const TURNS_PER_RUN = 30;
const SYNC_MS = 0.5;
const HOST: SimulatedHost = { cores: 4, activities: 2_000 };
const HISTORY_DAYS = 3;
const EVENTS_A_WRITE = 2;
const WRITE_MS = 5;
const HEARTBEAT_SECONDS = 1.5;
/** What a host is to keep: a turn waits no longer in 99 of 100 cases, and its cores have room for what is unusual. */
const LONGEST_WAIT_MS = 250;
const BUSIEST = 0.7;
const SHARDS = [4, 16, 64, 256, 512, 1_024, 2_048, 4_096] as const;
const LONGEST_SHARD_WAIT_MS = 5;

interface Case {
  readonly steps: StepSize;
  readonly runsADay: number;
  readonly modelSeconds: number;
}

function workOf({ steps, modelSeconds }: Case) {
  const { cpuMs, syncs } = STEPS[steps];
  return { turnsPerRun: TURNS_PER_RUN, modelSeconds, cpuMs, diskMs: syncs * SYNC_MS };
}

/** The fewest hosts that keep what they are to keep; the projects, and so the runs, are spread over them. */
function fewestHosts(asked: Case): { readonly hosts: number; readonly day: SimulatedDay } {
  const work = workOf(asked);
  const turnsADay = asked.runsADay * TURNS_PER_RUN;
  const least = (3 * turnsADay * work.cpuMs) / (86_400 * 1_000 * HOST.cores * BUSIEST);
  for (let hosts = Math.max(1, Math.floor(least)); ; hosts += 1) {
    const day = simulateDay(asked.runsADay / hosts, work, HOST);
    if (day.busiest <= BUSIEST && day.waitMs.p99 <= LONGEST_WAIT_MS) return { hosts, day };
  }
}

function fewestShards(writesASecond: number) {
  for (const shards of SHARDS) {
    if (writesASecond * WRITE_MS >= shards * 1_000) continue;
    const wait = simulateShard(writesASecond, shards, WRITE_MS);
    if (wait.p99 <= LONGEST_SHARD_WAIT_MS) return { shards, wait };
  }
  return { shards: 0, wait: { p50: 0, p99: 0, most: 0 } };
}

function rowsOf(asked: Case): readonly (readonly [string, string])[] {
  const { hosts, day } = fewestHosts(asked);
  const { events, serverCpuMs, historyBytes, actions } = STEPS[asked.steps];
  const turnsASecond = day.turnsASecond * hosts;
  const eventsASecond = turnsASecond * events;
  const { shards, wait } = fewestShards(eventsASecond / EVENTS_A_WRITE);
  const runsADay = day.runs * hosts;
  const beats = Math.floor(asked.modelSeconds / HEARTBEAT_SECONDS);
  const perTurn = actions + beats;
  const memoryMib = WORKER_MIB + day.mostOpen * RUN_MIB + day.mostInFlight * TURN_MIB;
  return [
    ["hosts of 4 cores", String(hosts)],
    [
      "their cores are busy: over the day, in the busiest hour",
      `${percent(day.busy)}, ${percent(day.busiest)}`,
    ],
    ["turns a second in the busiest hour", figure(turnsASecond)],
    [
      "a turn waits for slot, core and disk: half, 99 %, most",
      `${day.waitMs.p50}, ${day.waitMs.p99}, ${day.waitMs.most} ms`,
    ],
    ["runs open on a host, at most", figure(day.mostOpen)],
    ["model turns under way on a host, at most", figure(day.mostInFlight)],
    ["memory of its worker", `${figure(memoryMib / 1_024)} GB`],
    ["the stores grow, a day", `${figure((runsADay * STORE_BYTES_A_RUN) / 1e9)} GB`],
    ["events a second in the busiest hour", figure(eventsASecond)],
    [
      "cores of the Temporal server, by what the embedded one needs",
      figure((turnsASecond * serverCpuMs) / 1_000),
    ],
    ["history shards; a write waits in one, 99 %", `${shards}, ${wait.p99} ms`],
    [
      `histories, kept for ${HISTORY_DAYS} days`,
      `${figure((historyBytes * runsADay * TURNS_PER_RUN * HISTORY_DAYS) / 1e9)} GB`,
    ],
    ["actions a second, over the day", figure((perTurn * runsADay * TURNS_PER_RUN) / 86_400)],
    ["actions a second, in the busiest hour", figure(perTurn * turnsASecond)],
  ];
}

function percent(share: number): string {
  return `${figure(share * 100)} %`;
}

/** Two digits are as many as these figures are worth. */
function figure(value: number): string {
  const digits = Number(value.toPrecision(2));
  return digits >= 1_000 ? digits.toLocaleString("en") : String(digits);
}

const USAGE = "Usage: npm run bench:simulate -- [runs a day …]    (1000 1000000)";

function readDays(args: readonly string[]): readonly number[] {
  const said = positionals(args);
  return said.length === 0
    ? [1_000, 1_000_000]
    : said.map((text) => count(text, "[runs a day …]", 1, 10_000_000));
}

function main(days: readonly number[]): void {
  const cases: readonly Case[] = days.flatMap((runsADay) => [
    { steps: "turns" as const, runsADay, modelSeconds: 20 },
    { steps: "nodes" as const, runsADay, modelSeconds: 0.4 },
  ]);
  const columns = cases.map((asked) => rowsOf(asked));
  const head = cases.map(({ steps, runsADay, modelSeconds }) => {
    return `${runsADay.toLocaleString("en")} by ${steps}, answers of ${modelSeconds} s`;
  });
  const lines = (columns[0] ?? []).map(([name], row) => [
    name,
    ...columns.map((column) => column[row]?.[1] ?? ""),
  ]);
  const table = [["runs a day", ...head], head.concat("").map(() => "---"), ...lines];
  process.stdout.write(table.map((cells) => `| ${cells.join(" | ")} |\n`).join(""));
}

main(commandLine(USAGE, readDays));
